/**
 * The figures and charts of the overview.
 *
 * @import { Timeline } from "./types.js"
 */

import { bars, lines } from "./charts.js";
import { h } from "./dom.js";
import { clockTime, compact, duration, number, percent, plural } from "./format.js";
import * as live from "./live.js";
import { section } from "./parts.js";
import { href } from "./router.js";
import { counted } from "./throughput.js";

/** @param {Timeline | null} timeline */
export function tiles(timeline) {
  const { metrics } = live.state;
  const ended = timeline ? counted(timeline, live.state.totals) : null;
  const completed = ended?.completed.reduce((total, each) => total + each, 0);
  const failed = ended?.failed.reduce((total, each) => total + each, 0);
  const decided = (completed ?? 0) + (failed ?? 0);
  const late = timeline?.items.map(({ lateness_ms }) => lateness_ms.p95).filter((each) => each !== null) ?? [];
  return h(
    "dl",
    { class: "tiles" },
    tile(
      "Waiting",
      number(metrics?.waiting ?? metrics?.totals.live),
      href(["executions"], { status: "PENDING" }),
      "due or scheduled",
    ),
    tile(
      "Running",
      number(metrics?.running ?? metrics?.executing),
      href(["executions"], { status: "RUNNING" }),
      metrics ? `of ${plural(metrics.capacity, "slot")}` : "",
    ),
    tile(
      "Completed",
      number(completed),
      href(["executions"], { status: "COMPLETED" }),
      decided ? `${percent((completed ?? 0) / decided)} succeeded` : "",
    ),
    tile("Failed", number(failed), href(["executions"], { status: "FAILED" }), "", failed ? "bad" : ""),
    tile("Lateness", late.length === 0 ? "–" : duration(Math.max(...late)), null, "worst 95th percentile"),
    tile("Dead letters", number(metrics?.dead_letters), href(["dead-letters"]), "", metrics?.dead_letters ? "bad" : ""),
  );
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string | null} target
 * @param {string} [note]
 * @param {string} [kind]
 */
const tile = (name, value, target, note = "", kind = "") =>
  h(
    "div",
    { class: `tile ${kind}` },
    h("dt", null, target ? h("a", { href: target }, name) : name),
    h("dd", null, value, note ? h("small", null, note) : null),
  );

/** @param {Timeline} timeline */
export function chartCards(timeline) {
  const day = timeline.step_ms * timeline.items.length > 12 * 3_600_000;
  const times = timeline.items.map(({ at }) => clockTime(at, { seconds: timeline.step_ms < 60_000, day }));
  const ended = counted(timeline, live.state.totals);
  const each = duration(timeline.step_ms);
  const total = ended.completed.reduce((sum, value) => sum + value, 0);
  const throughput = bars({
    label: `Executions that ended, in steps of ${each}: ${number(total)} completed, ${number(ended.failed.reduce((a, b) => a + b, 0))} failed.`,
    times,
    format: compact,
    covered: ended.covered,
    series: [
      { name: "completed", class: "completed", values: ended.completed },
      { name: "failed", class: "failed", values: ended.failed },
      { name: "other", class: "other", values: ended.other },
    ],
  });
  return h(
    "div",
    { class: "charts" },
    section("Throughput", throughput, { note: `per ${each}` }),
    section("Waiting", backlog(timeline, times), { note: "due, not begun" }),
    section("Lateness", spread(timeline, times, "lateness_ms", "Time from when an execution was due until it began"), {
      note: "due until begun",
    }),
    section("Durations", spread(timeline, times, "duration_ms", "How long the last attempts took"), {
      note: "last attempts",
    }),
  );
}

/**
 * @param {Timeline} timeline
 * @param {string[]} times
 */
function backlog(timeline, times) {
  const known = Date.parse(timeline.since);
  const values = timeline.items.map(({ at, waiting }) => (Date.parse(at) < known && !timeline.complete ? null : waiting));
  return lines({
    label: `Executions that were due and hadn't begun: lately ${number(values.at(-1) ?? 0)}, at most ${number(Math.max(0, ...values.map((value) => value ?? 0)))}.`,
    times,
    format: compact,
    series: [{ name: "waiting", class: "backlog", values }],
  });
}

/**
 * @param {Timeline} timeline
 * @param {string[]} times
 * @param {"lateness_ms" | "duration_ms"} field
 * @param {string} what
 */
function spread(timeline, times, field, what) {
  const last = timeline.items.findLast((item) => item[field].p95 !== null)?.[field];
  const label = last
    ? `${what}: lately ${duration(last.p50)} in the middle, ${duration(last.p95)} for 95 %.`
    : `${what}: nothing yet.`;
  return lines({
    label,
    times,
    format: duration,
    series: [
      { name: "95 % below", class: "p95", values: timeline.items.map((item) => item[field].p95) },
      { name: "median", class: "p50", values: timeline.items.map((item) => item[field].p50) },
    ],
  });
}
