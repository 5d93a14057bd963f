/**
 * An execution's life as a bar: waiting, running, backing off.
 *
 * @import { Attempt, Execution } from "./types.js"
 */

import { h } from "./dom.js";
import { duration } from "./format.js";

/** @typedef {{kind: string, from: number, to: number, text: string}} Span */

/**
 * @param {Execution} run
 * @param {Attempt[]} attempts
 * @param {number} now
 */
export function timelineOf(run, attempts, now) {
  const spans = spansOf(run, attempts, now);
  if (spans.length === 0) return null;
  const total = Math.max(
    1,
    spans.reduce((sum, { from, to }) => sum + Math.max(0, to - from), 0),
  );
  const label = spans.map(({ text, from, to }) => `${text} ${duration(to - from)}`).join(", ");
  return h(
    "div",
    { class: "life", role: "img", "aria-label": label },
    spans.map(({ kind, from, to, text }) =>
      h(
        "span",
        {
          class: kind,
          style: { "flex-grow": Math.max(0.02, (to - from) / total) },
          title: `${text}: ${duration(to - from)}`,
        },
        h("span", null, `${text} · ${duration(to - from)}`),
      ),
    ),
  );
}

/**
 * @param {Execution} run
 * @param {Attempt[]} attempts
 * @param {number} now
 * @returns {Span[]}
 */
function spansOf(run, attempts, now) {
  /** @type {Span[]} */
  const spans = [];
  const due = Date.parse(run.fire_time);
  const alive = ["PENDING", "RUNNING"].includes(run.status);
  let until = Math.min(due, now);
  for (const attempt of attempts) {
    const began = Date.parse(attempt.started_at);
    const first = attempt.attempt === 1;
    spans.push({ kind: first ? "waiting" : "backoff", from: until, to: began, text: first ? "waiting" : "backoff" });
    until = attempt.completed_at ? Date.parse(attempt.completed_at) : now;
    spans.push({ kind: attempt.outcome, from: began, to: until, text: `attempt ${attempt.attempt}` });
  }
  if (alive && run.status === "PENDING" && now > until) {
    spans.push({
      kind: attempts.length ? "backoff" : "waiting",
      from: until,
      to: now,
      text: attempts.length ? "backoff" : "waiting",
    });
  }
  // A wait of no length is none; an attempt was made however little time it took.
  return spans.filter(({ kind, from, to }) => to > from || !["waiting", "backoff"].includes(kind));
}
