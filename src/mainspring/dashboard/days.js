/**
 * Runs by day, in the reader's time zone: what ran, and what is to come.
 *
 * @import { Timeline } from "./types.js"
 */

import * as clock from "./clock.js";
import { dayOf, plural } from "./format.js";

const DAY_MS = 86_400_000;
const SHOWN_AHEAD = 14;
/** After every day. */
const LAST = "9999-12-31";

/**
 * @param {Timeline} timeline
 * @param {string[]} coming
 * @param {number} most how many of those to come were asked for
 * @param {typeof import("./charts.js").calendar} draw
 */
export function days(timeline, coming, most, draw) {
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
  const first = dayOf(Date.parse(timeline.until) - timeline.step_ms * timeline.items.length);
  // Where only so many moments were asked for, it goes on after the last of them.
  const counted = coming.length < most ? LAST : dayOf(Date.parse(coming[coming.length - 1]));
  const shown = [...between(first, dayOf(clock.now() + SHOWN_AHEAD * DAY_MS))].map((day) => {
    const count = counts.get(day) ?? { ran: 0, failed: 0, coming: 0 };
    const ahead = day > today;
    const uncounted = ahead && day >= counted;
    return {
      day,
      amount: uncounted ? most : ahead ? count.coming : count.ran,
      failed: count.failed,
      coming: ahead,
      weekday: (new Date(`${day}T12:00:00Z`).getUTCDay() + 6) % 7,
      label: uncounted ? `${day}: many to come` : labelOf(day, count, ahead),
    };
  });
  const ran = shown.reduce((total, { amount, coming: ahead }) => total + (ahead ? 0 : amount), 0);
  const ahead = `${plural(coming.length, "moment")}${coming.length < most ? "" : " or more"} ahead`;
  return draw(shown, `${plural(ran, "run")} in the last ${shown.length - SHOWN_AHEAD} days, ${ahead}.`);
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

/**
 * Every day from one to another, whatever daylight saving does to their lengths.
 * @param {string} first
 * @param {string} last
 */
function* between(first, last) {
  for (let time = Date.parse(first); ; time += DAY_MS) {
    const day = new Date(time).toISOString().slice(0, 10);
    if (day > last) return;
    yield day;
  }
}
