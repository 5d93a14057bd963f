/** Numbers, times and durations for people. */

import * as clock from "./clock.js";
import { h } from "./dom.js";
import { zone } from "./preferences.js";

const NUMBER = new Intl.NumberFormat("en");
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @type {Intl.DateTimeFormatOptions} */
const WHOLE = {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
  timeZoneName: "short",
};

/** As many as there are ways to write a time, in the few time zones that somebody looks at. @type {Map<string, Intl.DateTimeFormat>} */
const formatters = new Map();

/** @param {number | null | undefined} value */
export const number = (value) => (value === null || value === undefined ? "–" : NUMBER.format(value));

/** @param {number} value */
export const compact = (value) =>
  value < 10_000 ? number(Math.round(value)) : new Intl.NumberFormat("en", { notation: "compact" }).format(value);

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** @param {number | null | undefined} share */
export const percent = (share) =>
  share === null || share === undefined ? "–" : `${(share * 100).toFixed(share > 0.999 && share < 1 ? 2 : 1)} %`;

/**
 * A length of time, to two units at most.
 * @param {number | null | undefined} ms
 */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return two(ms, MINUTE, "min", SECOND, "s");
  if (ms < DAY) return two(ms, HOUR, "h", MINUTE, "min");
  return two(ms, DAY, "d", HOUR, "h");
}

/**
 * @param {number} ms
 * @param {number} large
 * @param {string} largeName
 * @param {number} small
 * @param {string} smallName
 */
function two(ms, large, largeName, small, smallName) {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms % large) / small);
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}

/** @param {string} instant */
export function relative(instant) {
  const gap = Date.parse(instant) - clock.now();
  if (Math.abs(gap) < SECOND) return "now";
  return gap > 0 ? `in ${coarse(gap, duration)}` : `${coarse(-gap, largest)} ago`;
}

/**
 * Whole seconds, so that a second more is seen each second.
 * @param {number} length
 * @param {(ms: number) => string} beyond what to say of a minute and more
 */
const coarse = (length, beyond) => (length < MINUTE ? `${Math.floor(length / SECOND)} s` : beyond(length));

/**
 * How long something still takes or has taken, for what is seen to change.
 * @param {number} ms
 */
export const roughly = (ms) => coarse(ms, duration);

/**
 * One unit is enough for what is past.
 * @param {number} ms
 */
function largest(ms) {
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)} h` : `${Math.floor(ms / DAY)} d`;
}

/**
 * @param {string} instant
 * @param {string} [timeZone]
 */
export function absolute(instant, timeZone = zone()) {
  return formatter({ ...WHOLE, timeZone }).format(new Date(instant));
}

/**
 * @param {string | number} instant
 * @param {{seconds?: boolean, day?: boolean}} [parts]
 */
export function clockTime(instant, { seconds = false, day = false } = {}) {
  return formatter({
    timeZone: zone(),
    ...(day ? { day: "numeric", month: "short" } : {}),
    hour: "2-digit",
    minute: "2-digit",
    ...(seconds ? { second: "2-digit" } : {}),
    hourCycle: "h23",
  }).format(new Date(instant));
}

/**
 * The day of a moment, as 2030-01-31.
 * @param {number} time
 */
export const dayOf = (time) =>
  formatter({ timeZone: zone(), year: "numeric", month: "2-digit", day: "2-digit" }, "en-CA").format(time);

/**
 * To make one takes far longer than to use it, and hundreds of times are written each second.
 * @param {Intl.DateTimeFormatOptions} options
 * @param {string} [locale]
 */
function formatter(options, locale = "en-GB") {
  const name = locale + JSON.stringify(options);
  const known = formatters.get(name) ?? new Intl.DateTimeFormat(locale, options);
  formatters.set(name, known);
  return known;
}

/**
 * How long until or since, kept right by `keepTimesRight`; the whole time is shown when asked.
 * @param {string | null | undefined} instant
 */
export function ago(instant) {
  if (!instant) return h("span", { class: "faint none" }, "–");
  return h("time", { datetime: instant, title: absolute(instant), "data-relative": true }, relative(instant));
}

/**
 * How long until something that comes by itself: once it is due it comes now, however long it takes to be told.
 * @param {string | null | undefined} instant
 */
export function until(instant) {
  if (!instant) return ago(instant);
  return h("time", { datetime: instant, title: absolute(instant), "data-relative": "until" }, dueIn(instant));
}

/** @param {string} instant */
const dueIn = (instant) => (Date.parse(instant) <= clock.now() ? "now" : relative(instant));

/**
 * A moment in full, and how long ago.
 * @param {string | null | undefined} instant
 */
export function moment(instant) {
  if (!instant) return h("span", { class: "faint" }, "–");
  return h(
    "span",
    { class: "moment" },
    h("time", { datetime: instant, title: instant }, absolute(instant)),
    " ",
    ago(instant),
  );
}

/** @param {string} id */
export const shortId = (id) => `${id.slice(0, 8)}…${id.slice(-4)}`;

/** Once a second, every time that says how long ago it was is put right. */
export function keepTimesRight() {
  setInterval(() => {
    if (document.hidden) return;
    for (const each of document.querySelectorAll("time[data-relative]")) {
      const element = /** @type {HTMLTimeElement} */ (each);
      const text = (element.dataset.relative === "until" ? dueIn : relative)(element.dateTime);
      if (element.firstChild && element.firstChild.nodeValue !== text) element.firstChild.nodeValue = text;
    }
  }, SECOND);
}
