/**
 * What is stuck, and why: found in what the API tells, most serious first.
 *
 * @import { Execution } from "./types.js"
 */

import { duration, plural } from "./format.js";
import { href } from "./router.js";

const OVERDUE_MS = 30_000;
const SKEW_MS = 1000;
const SILENT_MS = 12_000;

/** @typedef {{key: string, text: string, advice?: string, target?: string, severity: "bad" | "warn"}} Trouble */

/**
 * @param {typeof import("./live.js").state} state
 * @param {Execution[]} waiting
 * @param {number} now
 * @returns {Trouble[]}
 */
export function troubles({ health, metrics, workers }, waiting, now) {
  /** @type {Trouble[]} */
  const found = [];
  if (health?.status === "unhealthy") {
    found.push({ key: "store", severity: "bad", text: "The store is away.", advice: health.database.detail ?? "" });
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
  const overdue = waiting.filter(({ scheduled_at }) => now - Date.parse(scheduled_at) > OVERDUE_MS);
  if (overdue.length > 0) found.push(stuck(overdue, now, metrics));
  if (metrics?.dead_letters) {
    const text = `${plural(metrics.dead_letters, "dead letter")} waiting for a decision.`;
    found.push({ key: "dead", severity: "warn", text, target: href(["dead-letters"]) });
  }
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
 * @param {Execution[]} overdue
 * @param {number} now
 * @param {{capacity: number, executing: number} | null} metrics
 * @returns {Trouble}
 */
function stuck(overdue, now, metrics) {
  const oldest = Math.min(...overdue.map(({ scheduled_at }) => Date.parse(scheduled_at)));
  const full = metrics !== null && metrics.capacity > 0 && metrics.executing >= metrics.capacity;
  return {
    key: "overdue",
    severity: full ? "warn" : "bad",
    text: `${plural(overdue.length, "execution")}${overdue.length === 100 ? " or more" : ""} overdue, up to ${duration(now - oldest)}.`,
    advice: full ? "All slots are busy: add workers or slots." : "Open one to see what holds it.",
    target: href(["executions"], { status: "PENDING" }),
  };
}
