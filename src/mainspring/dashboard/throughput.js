/**
 * How much ended in each step of a window.
 *
 * The server counts it from the executions, but looks at no more than some thousand. Where there were more, exact totals
 * that were seen since the dashboard was opened fill in; what neither knows is said to be unknown.
 *
 * @import { Timeline } from "./types.js"
 */

/**
 * @param {Timeline} timeline
 * @param {import("./totals.js").Totals} totals
 */
export function counted(timeline, totals) {
  const { items, step_ms: step, complete } = timeline;
  const completed = items.map(({ by_status }) => by_status.COMPLETED);
  const failed = items.map(({ by_status }) => by_status.FAILED);
  const other = items.map(({ by_status }) => by_status.CANCELLED + by_status.SKIPPED);
  if (complete) return { completed, failed, other, covered: 0 };
  const samples = totals.of(step);
  const since = Date.parse(timeline.since);
  const known = samples.length > 0 ? Math.min(since, samples[0].at) : since;
  items.forEach(({ at }, index) => {
    const begin = Date.parse(at);
    if (begin + step <= known) return;
    const between = samples.filter((sample) => sample.at >= begin - 1 && sample.at < begin + step);
    const before = samples.findLast((sample) => sample.at < begin) ?? between[0];
    const after = between.at(-1);
    if (before === undefined || after === undefined) return;
    completed[index] = Math.max(completed[index], after.completed - before.completed);
    failed[index] = Math.max(failed[index], after.failed - before.failed);
    other[index] = Math.max(other[index], after.other - before.other);
  });
  const covered = items.findIndex(({ at }) => Date.parse(at) + step > known);
  return { completed, failed, other, covered: Math.max(0, covered) };
}
