/**
 * What is stuck, and why: found in what the API tells, most serious first.
 *
 * @import { Execution, Job, Pipe } from "./types.js"
 */

import { get } from "./api.js";
import { duration, plural } from "./format.js";
import { explain } from "./gates.js";
import { purposeOf } from "./health.js";
import { href } from "./router.js";

const OVERDUE_MS = 30_000;
const SKEW_MS = 1000;
const SILENT_MS = 12_000;

/** The most that is looked at. */
export const MOST_LOOKED_AT = 100;

/** @typedef {{count: number, oldest: Execution, job: Job | null}} Stuck */
/** @typedef {{key: string, text: string, advice?: string, target?: string, severity: "bad" | "warn"}} Trouble */

/**
 * @param {typeof import("./live.js").state} state
 * @param {Stuck | null} stuck
 * @param {number} now
 * @returns {Trouble[]}
 */
export function troubles(state, stuck, now) {
  const { health, silence, metrics, workers } = state;
  /** @type {Trouble[]} */
  const found = [];
  if (silence) found.push({ key: "silence", severity: "bad", text: silence, advice: "What you see may be old." });
  if (health?.status === "unhealthy") {
    found.push({ key: "store", severity: "bad", text: "The store is away.", advice: health.database.detail ?? "" });
  }
  for (const { subject, detail } of health?.troubles ?? []) {
    const full = subject === "store";
    found.push({
      key: `lack ${subject}`,
      severity: full ? "bad" : "warn",
      text: full ? "The store is full: nothing is accepted." : `The ${subject} lacks what it needs.`,
      advice: detail,
      ...(subject.startsWith("worker ") ? { target: href(["workers"]) } : {}),
    });
  }
  if (workers?.length === 0) {
    found.push({
      key: "workers",
      severity: "bad",
      text: "No worker is alive: nothing runs.",
      advice: "Start one: mainspring worker",
    });
  }
  if (workers?.length && workers.every(({ status }) => status !== "active")) {
    found.push({
      key: "draining",
      severity: "bad",
      text: "Every live worker is draining: nothing new runs.",
      advice: "Resume one, or start another: mainspring worker",
      target: href(["workers"]),
    });
  }
  if (metrics?.schedulers === 0) {
    found.push({
      key: "schedulers",
      severity: "bad",
      text: "No scheduler is alive: nothing fires.",
      advice: "Start one: mainspring scheduler",
    });
  }
  if (stuck !== null) found.push(overdue(state, stuck, now));
  if (metrics?.dead_letters) {
    const text = `${plural(metrics.dead_letters, "dead letter")} waiting for a decision.`;
    found.push({ key: "dead", severity: "warn", text, target: href(["dead-letters"]) });
  }
  if (metrics?.suspects) {
    found.push({
      key: "suspects",
      severity: "warn",
      text: `${plural(metrics.suspects, "execution")} under suspicion: workers died while they ran, and each must run alone.`,
      advice: "See which workers died, and what they ran. What isn't needed any more can be cancelled.",
      target: href(["executions"], { status: "PENDING" }),
    });
  }
  found.push(...lostServers(health?.pipes ?? []));
  for (const worker of workers ?? []) {
    const silence = now - Date.parse(worker.last_heartbeat);
    const skew = Math.abs(worker.clock_skew_ms);
    if (silence > SILENT_MS)
      found.push({
        key: `silent ${worker.session}`,
        severity: "warn",
        text: `Worker ${worker.id} has been silent for ${duration(silence)}.`,
        target: href(["workers"]),
      });
    if (skew > SKEW_MS)
      found.push({
        key: `skew ${worker.session}`,
        severity: "warn",
        text: `The clock of worker ${worker.id} is off by ${duration(skew)}.`,
        target: href(["workers"]),
      });
  }
  return found;
}

/**
 * Each server once, whatever it is for.
 * @param {Pipe[]} pipes
 * @returns {Trouble[]}
 */
function lostServers(pipes) {
  const down = pipes.filter(({ status }) => status === "down");
  return [...new Set(down.map(({ url }) => url))].map((url) => {
    const uses = down.filter((pipe) => pipe.url === url);
    return {
      key: `pipe ${url}`,
      severity: "warn",
      text: `${uses.map(purposeOf).join(" and ")} by ${url}: lost.`,
      advice: `The store serves meanwhile. ${uses[0].detail ?? ""}`,
    };
  });
}

/**
 * Those that should have begun long ago, and what is to be known of the oldest; null if there are none.
 * @param {Execution[]} waiting
 * @param {number} now
 * @returns {Promise<Stuck | null>}
 */
export async function findStuck(waiting, now) {
  const late = waiting.filter((run) => now - expected(run) > OVERDUE_MS);
  if (late.length === 0) return null;
  const oldest = late.reduce((a, b) => (expected(b) < expected(a) ? b : a));
  return { count: late.length, oldest, job: await get(`jobs/${oldest.job_id}`).catch(() => null) };
}

/**
 * When it should have begun: one that workers hand back is offered anew every few seconds, and is late all the same.
 * @param {Execution} run
 */
const expected = ({ attempt, fire_time, scheduled_at }) => Date.parse(attempt === 0 ? fire_time : scheduled_at);

/**
 * @param {typeof import("./live.js").state} state
 * @param {Stuck} stuck
 * @param {number} now
 * @returns {Trouble}
 */
function overdue({ metrics, workers, handlers }, { count, oldest, job }, now) {
  const amount = `${plural(count, "execution")}${count === MOST_LOOKED_AT ? " or more" : ""}`;
  const late = duration(now - expected(oldest));
  const advice = job ? explain({ job, execution: oldest, workers, handlers, metrics, now }).verdict : "";
  return {
    key: "overdue",
    severity: "bad",
    text: `${amount} overdue, up to ${late}.`,
    advice: advice && `${job?.name || job?.handler}: ${advice}`,
    target: count === 1 ? href(["executions", oldest.id]) : href(["executions"], { status: "PENDING" }),
  };
}
