/**
 * What is going on now: figures that are asked for now and then, and changes as they are told.
 *
 * However many events come, listeners hear of them at most a few times a second, and not at all while nobody looks.
 *
 * @import { Changes, Handler, Health, Metrics, Worker } from "./types.js"
 */

import { Problem, get } from "./api.js";
import * as clock from "./clock.js";
import { EventStream } from "./stream.js";
import { Totals } from "./totals.js";

const TOLD_EVERY_MS = 300;
const FIGURES_EVERY_MS = 3000;
/** Beyond this, changes aren't told one by one: while nobody looks, they would be kept for as long as that lasts. */
const MOST_PENDING = 1000;

/** @typedef {import("./stream.js").State} State */

export const state = {
  /** @type {Health | null} */ health: null,
  /** Why nothing is known of the health; empty if it is, or wasn't asked for yet. */
  silence: "",
  /** @type {Metrics | null} */ metrics: null,
  /** @type {Worker[] | null} */ workers: null,
  /** As they were known when a worker last came or went. @type {Handler[] | null} */ handlers: null,
  /** @type {State} */ connection: "connecting",
  /** When the connection was lost. */
  lostAt: 0,
  totals: new Totals(),
};

/** @type {Set<(changes: Changes) => void>} */
const changeListeners = new Set();
/** @type {Set<() => void>} */
const figureListeners = new Set();
/** @type {Set<() => void>} */
const returnListeners = new Set();

/** The sessions of the workers that the handlers were asked for with. @type {string | null} */
let served = null;
let pending = nothing();
let reading = false;
/** @type {ReturnType<typeof setTimeout> | null} */
let telling = null;
/** @type {EventStream | null} */
let stream = null;
/** @type {ReturnType<typeof setInterval> | null} */
let asking = null;

/**
 * Hear what changes; the answer stops it.
 * @param {(changes: Changes) => void} listener
 */
export function onChanges(listener) {
  changeListeners.add(listener);
  return () => void changeListeners.delete(listener);
}

/**
 * Hear when figures, workers, health or the connection are known anew; the answer stops it.
 * @param {() => void} listener
 */
export function onFigures(listener) {
  figureListeners.add(listener);
  return () => void figureListeners.delete(listener);
}

/**
 * Hear when a lost connection is back.
 * @param {() => void} listener
 */
export const onReturn = (listener) => void returnListeners.add(listener);

/** Begin; again after a new key. */
export function start() {
  stop();
  stream = new EventStream(take, follow);
  void stream.run();
  void readFigures();
  asking = setInterval(() => void (document.hidden || readFigures()), FIGURES_EVERY_MS);
}

export function stop() {
  stream?.stop();
  stream = null;
  if (asking !== null) clearInterval(asking);
  asking = null;
}

/** Try to connect at once. */
export const hurry = () => stream?.hurry();

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  if (asking !== null) void readFigures();
  tellSoon();
});

/** Ask for figures, workers and health now, unless an answer is on its way. */
export async function readFigures() {
  if (reading) return;
  reading = true;
  await Promise.all([readHealth(), readNumbers()]);
  reading = false;
  for (const listener of figureListeners) listener();
}

async function readHealth() {
  const sent = performance.now();
  try {
    state.health = await get("health");
    state.silence = "";
    if (state.health?.database.time) clock.observe(state.health.database.time, sent, performance.now());
  } catch (problem) {
    // Without its store a server is unwell, and says so in the same words.
    state.health = problem instanceof Problem && problem.document.database ? problem.document : null;
    state.silence = state.health === null && problem instanceof Error ? problem.message : "";
  }
}

async function readNumbers() {
  try {
    const [metrics, workers] = await Promise.all([get("metrics"), get("workers")]);
    state.metrics = metrics;
    state.workers = workers.items;
    remember(metrics);
    const sessions = workers.items.map((/** @type {Worker} */ { session }) => session).join();
    if (sessions !== served) {
      state.handlers = (await get("handlers")).items;
      served = sessions;
    }
  } catch {
    // What was known last is shown; why there is no news, the health says.
  }
}

/** @param {Metrics} metrics */
function remember({ totals }) {
  const other = totals.cancelled + totals.skipped;
  state.totals.add({ at: clock.now(), completed: totals.completed, failed: totals.failed, other });
}

/** @param {State} connection */
function follow(connection) {
  const before = state.connection;
  if (connection === "lost" && before !== "lost") state.lostAt = clock.now();
  state.connection = connection;
  // Starts of runs aren't told again after a break, only their ends: look again.
  if (connection === "live" && before === "lost") {
    pending.everything = true;
    tellSoon();
    void readFigures();
    for (const listener of returnListeners) listener();
  }
  for (const listener of figureListeners) listener();
}

/**
 * @param {string} type
 * @param {any} data
 */
function take(type, data) {
  if (type === "run") note(pending.runs, data);
  else if (type === "job") note(pending.jobs, data);
  else if (type === "worker") pending.workers = true;
  else if (type === "counts" || type === "reset") pending.everything = true;
  tellSoon();
}

/**
 * @template {{id: string}} Item
 * @param {Map<string, Item>} changed
 * @param {Item} item
 */
function note(changed, item) {
  // Once everything is to be read again, one change more says nothing.
  if (pending.everything) return;
  changed.set(item.id, item);
  if (pending.runs.size + pending.jobs.size > MOST_PENDING) {
    pending = { ...nothing(), workers: pending.workers, everything: true };
  }
}

function tellSoon() {
  if (telling !== null || document.hidden) return;
  telling = setTimeout(() => {
    telling = null;
    const changes = pending;
    if (!changes.everything && !changes.workers && changes.runs.size + changes.jobs.size === 0) return;
    pending = nothing();
    if (changes.workers) void readFigures();
    for (const listener of changeListeners) listener(changes);
  }, TOLD_EVERY_MS);
}

/** @returns {Changes} */
function nothing() {
  return { runs: new Map(), jobs: new Map(), workers: false, everything: false };
}
