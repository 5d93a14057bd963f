/**
 * A schedule in words, and its next ten moments as the server counts them, with what daylight saving does to them.
 */

import { Problem, post } from "./api.js";
import { h, refresh } from "./dom.js";
import { until } from "./format.js";
import { inWords } from "./schedule-words.js";

const SHOWN = 10;

/** @typedef {{schedule: string, timezone: string, starts_at: string | null, dst: {gap: string, fold: string}}} Timing */

export class Upcoming {
  element = h("div", { class: "moments", "aria-live": "polite" });
  #words = h("p", { class: "words" });
  #times = h("div");
  #latest = 0;

  constructor() {
    this.element.append(this.#words, this.#times);
  }

  dispose() {
    this.#latest = -1;
  }

  /** @param {string} schedule */
  explain(schedule) {
    const words = inWords(schedule);
    this.#words.textContent = words === null ? "" : `It runs ${words}.`;
  }

  /** Ask for the moments; an answer that comes after a newer question is left aside. @param {Timing} timing */
  async show(timing) {
    this.explain(timing.schedule);
    const asked = (this.#latest += 1);
    try {
      const { starts_at, ...rest } = timing;
      const { items } = await post("schedules/preview", { ...rest, ...(starts_at ? { starts_at } : {}), count: SHOWN });
      if (asked !== this.#latest) return;
      refresh(this.#times, items.length === 0 ? noMoments() : list(items, timing.timezone));
    } catch (error) {
      if (asked === this.#latest) refresh(this.#times, mistake(error, timing.schedule));
    }
  }
}

/** Only a job on demand has none: a schedule that never fires is refused. */
const noMoments = () => h("p", { class: "faint" }, "No moment of its own: trigger it when you want it.");

/**
 * @param {unknown} error
 * @param {string} schedule
 */
function mistake(error, schedule) {
  const message = error instanceof Error ? error.message : String(error);
  const at = error instanceof Problem ? error.position : null;
  const part = error instanceof Problem ? error.part : null;
  return h(
    "div",
    { class: "fault" },
    part !== null && at !== null && schedule.startsWith(part, at)
      ? h("p", null, h("code", null, schedule.slice(0, at), h("mark", null, part), schedule.slice(at + part.length)))
      : null,
    h("p", null, message),
  );
}

/**
 * @param {string[]} moments
 * @param {string} timezone
 */
function list(moments, timezone) {
  const exact = moments.some((moment) => !moment.endsWith(":00Z"));
  const shown = moments.map((moment) => ({ moment, ...inZone(moment, timezone, exact) }));
  return h(
    "ol",
    null,
    shown.map(({ moment, text, offset }, index) => {
      const before = shown[index - 1];
      const change = before && before.offset !== offset ? shift(before.offset, offset) : null;
      const twice = before && before.text === text ? "the same hour again" : null;
      return h(
        "li",
        null,
        change ? h("p", { class: "dst" }, change, twice ? `: ${twice}` : "") : null,
        h("time", { datetime: moment, title: moment }, text),
        h("span", { class: "faint", title: "From UTC" }, offset.replace(/^UTC(?=.)/, "")),
        until(moment),
      );
    }),
  );
}

/**
 * @param {string} before
 * @param {string} after
 */
const shift = (before, after) => `Daylight saving: the clock goes from ${before} to ${after}`;

/**
 * @param {string} moment
 * @param {string} timezone
 * @param {boolean} exact whether seconds matter
 */
function inZone(moment, timezone, exact) {
  const date = new Date(moment);
  const timeZone = valid(timezone) ? timezone : "UTC";
  const text = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    ...(exact ? { second: "2-digit" } : {}),
    hourCycle: "h23",
  }).format(date);
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone, timeZoneName: "longOffset" }).formatToParts(date);
  const offset = parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
  return { text, offset: /^GMT([+-]00:00)?$/.test(offset) ? "UTC" : offset.replace("GMT", "UTC") };
}

/** @param {string} timezone */
function valid(timezone) {
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone: timezone }));
  } catch {
    return false;
  }
}
