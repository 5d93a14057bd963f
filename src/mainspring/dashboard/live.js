/**
 * What is going on now: figures that are asked for now and then, and changes as they are told.
 *
 * However many events come, listeners hear of them at most a few times a second, and not at all while nobody looks.
 *
 * @import { Changes, Health, Metrics, Worker } from "./types.js"
 */

import { get } from "./api.js";
import * as clock from "./clock.js";
import { EventStream } from "./stream.js";

const TOLD_EVERY_MS = 300;
const FIGURES_EVERY_MS = 3000;
const MOST_SAMPLES = 1300;

/** @typedef {import("./stream.js").State} State */
/** @typedef {{at: number, completed: number, failed: number, other: number}} Sample */

export const state = {
  /** @type {Health | null} */ health: null,
  /** @type {Metrics | null} */ metrics: null,
  /** @type {Worker[] | null} */ workers: null,
  /** @type {State} */ connection: "connecting",
  /** When the connection was lost. */
  lostAt: 0,
  /** Exact totals as time went by since the dashboard was opened. @type {Sample[]} */
  samples: [],
};

/** @type {Set<(changes: Changes) => void>} */
const changeListeners = new Set();
/** @type {Set<() => void>} */
const figureListeners = new Set();

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
  try {
    const sent = performance.now();
    const health = get("health").catch((problem) => /** @type {Health} */ (unwell(problem)));
    const [metrics, workers] = await Promise.all([get("metrics"), get("workers")]);
    state.metrics = metrics;
    state.workers = workers.items;
    remember(metrics);
    state.health = await health;
    if (state.health?.database.time) clock.observe(state.health.database.time, sent, performance.now());
  } catch {
    state.health = unwell(new Error("The server can't be reached."));
  }
  reading = false;
  for (const listener of figureListeners) listener();
}

/**
 * @param {Error} problem
 * @returns {Health}
 */
const unwell = (problem) => ({ status: "unhealthy", database: { status: "down", detail: problem.message } });

/** @param {Metrics} metrics */
function remember({ totals }) {
  const other = totals.cancelled + totals.skipped;
  state.samples.push({ at: clock.now(), completed: totals.completed, failed: totals.failed, other });
  if (state.samples.length > MOST_SAMPLES) state.samples.shift();
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
  }
  for (const listener of figureListeners) listener();
}

/**
 * @param {string} type
 * @param {any} data
 */
function take(type, data) {
  if (type === "run") pending.runs.set(data.id, data);
  else if (type === "job") pending.jobs.set(data.id, data);
  else if (type === "worker") pending.workers = true;
  else if (type === "counts" || type === "reset") pending.everything = true;
  tellSoon();
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
