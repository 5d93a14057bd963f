/**
 * Runs by day, in the reader's time zone: what ran, and what is to come.
 *
 * @import { Timeline } from "./types.js"
 */

import * as clock from "./clock.js";
import { plural } from "./format.js";
import { zone } from "./preferences.js";

const DAY_MS = 86_400_000;
const SHOWN_AHEAD = 14;

/**
 * @param {Timeline} timeline
 * @param {string[]} coming
 * @param {typeof import("./charts.js").calendar} draw
 */
export function days(timeline, coming, draw) {
  /** @type {Map<string, {ran: number, failed: number, coming: number}>} */
  const counts = new Map();
  const at = (/** @type {string} */ day) =>
    counts.get(day) ?? counts.set(day, { ran: 0, failed: 0, coming: 0 }).get(day) ?? { ran: 0, failed: 0, coming: 0 };
  for (const { at: begin, by_status } of timeline.items) {
    const day = at(dayOf(Date.parse(begin) + timeline.step_ms / 2));
    day.ran += by_status.COMPLETED + by_status.FAILED + by_status.CANCELLED;
    day.failed += by_status.FAILED;
  }
  for (const moment of coming) at(dayOf(Date.parse(moment))).coming += 1;
  const today = dayOf(clock.now());
  const first = Date.parse(timeline.until) - timeline.step_ms * timeline.items.length;
  const shown = [];
  for (let time = first; time <= clock.now() + SHOWN_AHEAD * DAY_MS; time += DAY_MS) {
    const day = dayOf(time);
    const count = counts.get(day) ?? { ran: 0, failed: 0, coming: 0 };
    const ahead = day > today;
    const amount = ahead ? count.coming : count.ran;
    shown.push({
      day,
      amount,
      failed: count.failed,
      coming: ahead,
      weekday: (new Date(`${day}T12:00:00Z`).getUTCDay() + 6) % 7,
      label: labelOf(day, count, ahead),
    });
  }
  const ran = shown.reduce((total, { amount, coming: ahead }) => total + (ahead ? 0 : amount), 0);
  return draw(
    shown,
    `${plural(ran, "run")} in the last ${shown.length - SHOWN_AHEAD} days, ${plural(coming.length, "moment")} ahead.`,
  );
}

/**
 * @param {string} day
 * @param {{ran: number, failed: number, coming: number}} count
 * @param {boolean} ahead
 */
function labelOf(day, count, ahead) {
  if (ahead) return `${day}: ${plural(count.coming, "run")} to come`;
  return `${day}: ${plural(count.ran, "run")}${count.failed ? `, ${count.failed} failed` : ""}`;
}

/** @param {number} time */
const dayOf = (time) =>
  new Intl.DateTimeFormat("en-CA", { timeZone: zone(), year: "numeric", month: "2-digit", day: "2-digit" }).format(
    time,
  );
