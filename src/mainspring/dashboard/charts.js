/**
 * Charts. Shapes are drawn into a square that stretches with the page; words stand beside it, and stay sharp.
 */

import { h, s } from "./dom.js";

const SIZE = 100;
/** Steps without a value that a line still spans. */
const LONGEST_BRIDGE = 5;
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/**
 * @typedef {{name: string, class: string, values: (number | null)[]}} Series
 * @typedef {object} Chart
 * @property {string} label what it shows, for those who can't see it
 * @property {Series[]} series
 * @property {string[]} times when each step begins, in words
 * @property {(value: number) => string} format
 * @property {number} [covered] the first step that is known
 */

/**
 * Bars, one series on another.
 * @param {Chart} chart
 */
export function bars(chart) {
  const { series, times, covered = 0 } = chart;
  const heights = times.map((_, step) => sum(series.map(({ values }) => values[step] ?? 0)));
  const top = roundUp(Math.max(...heights, 1));
  const width = SIZE / times.length;
  const gap = Math.min(0.25 * width, 0.35);
  const shapes = series.map(({ class: name, values }, index) =>
    s("path", {
      class: `fill ${name}`,
      d: values
        .map((value, step) => {
          const below = sum(series.slice(0, index).map((other) => other.values[step] ?? 0));
          const height = ((value ?? 0) / top) * SIZE;
          const bottom = SIZE - (below / top) * SIZE;
          return height === 0 ? "" : `M${step * width + gap} ${bottom}v${-height}h${width - 2 * gap}v${height}z`;
        })
        .join(""),
    }),
  );
  const unknown =
    covered > 0 ? s("rect", { class: "unknown", x: 0, y: 0, width: covered * width, height: SIZE }) : null;
  return frame(chart, top, [unknown, ...shapes]);
}

/**
 * Lines through what is known; where nothing is known for long there is a gap.
 * @param {Chart} chart
 */
export function lines(chart) {
  const { series, times } = chart;
  const top = roundUp(Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)), 1));
  const width = SIZE / times.length;
  const shapes = series.map(({ class: name, values }) => {
    let last = -Infinity;
    const path = values.map((value, step) => {
      if (value === null) return "";
      const point = `${(step + 0.5) * width} ${SIZE - (value / top) * SIZE}`;
      const text = step - last > LONGEST_BRIDGE ? `M${point}h.01` : `L${point}`;
      last = step;
      return text;
    });
    return s("path", { class: `line ${name}`, d: path.join("") });
  });
  return frame(chart, top, shapes);
}

/**
 * A small line without words.
 * @param {number[]} values
 * @param {string} label
 */
export function sparkline(values, label) {
  const top = Math.max(...values, 1);
  const width = SIZE / values.length;
  const d = values
    .map((value, step) =>
      value === 0 ? "" : `M${step * width + width * 0.12} ${SIZE}v${(-value / top) * SIZE}h${width * 0.76}V${SIZE}z`,
    )
    .join("");
  return s(
    "svg",
    {
      class: "sparkline",
      viewBox: `0 0 ${SIZE} ${SIZE}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label,
    },
    s("path", { class: "axis", d: `M0 ${SIZE}h${SIZE}` }),
    s("path", { class: "fill failed", d }),
  );
}

/**
 * @param {Chart} chart
 * @param {number} top
 * @param {(SVGElement | null)[]} shapes
 */
function frame({ label, series, times, format }, top, shapes) {
  const rows = [0.25, 0.5, 0.75].map((part) => s("path", { class: "grid", d: `M0 ${SIZE * part}h${SIZE}` }));
  return h(
    "figure",
    { class: "chart" },
    h(
      "figcaption",
      null,
      h(
        "ul",
        { class: "legend" },
        series.map(({ name, class: kind }) => h("li", { class: kind }, name)),
      ),
    ),
    h(
      "div",
      { class: "plot", on: { pointermove: point(series, times, format), pointerleave: unpoint } },
      h("span", { class: "top", "aria-hidden": "true" }, format(top)),
      s(
        "svg",
        { viewBox: `0 0 ${SIZE} ${SIZE}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
        rows,
        s("path", { class: "axis", d: `M0 ${SIZE}h${SIZE}` }),
        shapes,
      ),
      h("div", { class: "pointer", hidden: true, keep: true, key: "pointer" }),
    ),
    h(
      "div",
      { class: "ticks", "aria-hidden": "true" },
      ticks(times).map((time) => h("span", null, time)),
    ),
  );
}

/**
 * @param {Series[]} series
 * @param {string[]} times
 * @param {(value: number) => string} format
 */
function point(series, times, format) {
  return (/** @type {PointerEvent} */ event) => {
    const plot = /** @type {HTMLElement} */ (event.currentTarget);
    const pointer = plot.querySelector(".pointer");
    if (!(pointer instanceof HTMLElement)) return;
    const box = plot.getBoundingClientRect();
    const step = Math.max(
      0,
      Math.min(times.length - 1, Math.floor(((event.clientX - box.left) / box.width) * times.length)),
    );
    const said = series.map(({ name, values }) => `${name} ${values[step] === null ? "–" : format(values[step] ?? 0)}`);
    pointer.textContent = `${times[step]} · ${said.join(" · ")}`;
    pointer.hidden = false;
    pointer.classList.toggle("right", step > times.length / 2);
    pointer.style.setProperty("--at", `${((step + 0.5) / times.length) * 100}%`);
  };
}

/** @param {PointerEvent} event */
function unpoint(event) {
  const pointer = /** @type {HTMLElement} */ (event.currentTarget).querySelector(".pointer");
  if (pointer instanceof HTMLElement) pointer.hidden = true;
}

/** @param {string[]} times */
const ticks = (times) =>
  [0, 0.25, 0.5, 0.75, 1].map((part) => times[Math.min(times.length - 1, Math.floor(part * times.length))]);

/** @param {number[]} values */
const sum = (values) => values.reduce((total, value) => total + value, 0);

/**
 * The next number that reads well.
 * @param {number} value
 */
export function roundUp(value) {
  const scale = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5, 10].find((factor) => factor * scale >= value) ?? 10) * scale;
}

/**
 * Days as squares, a column to each week: what ran, and what is to come.
 * @param {{day: string, label: string, amount: number, failed: number, coming: boolean, weekday: number}[]} days oldest first
 * @param {string} label
 */
export function calendar(days, label) {
  const most = Math.max(...days.map(({ amount }) => amount), 1);
  /** @param {typeof days[number]} day */
  const kind = ({ amount, failed, coming }) =>
    amount === 0 ? (coming ? "none ahead" : "none") : coming ? "coming" : failed > 0 ? "failed" : "completed";
  const blank = Array.from({ length: days[0]?.weekday ?? 0 }, (_, index) =>
    h("span", { class: "blank", key: `blank ${index}` }),
  );
  return h(
    "figure",
    { class: "chart" },
    h(
      "div",
      { class: "calendar", role: "img", "aria-label": label },
      WEEKDAYS.map((name) => h("span", { class: "weekday", key: `weekday ${name}` }, name)),
      blank,
      days.map((day) =>
        h("span", {
          key: day.day,
          class: `${kind(day)} level${day.amount === 0 ? 0 : Math.ceil((Math.log(day.amount + 1) / Math.log(most + 1)) * 4)}`,
          title: day.label,
        }),
      ),
    ),
    h(
      "figcaption",
      null,
      h(
        "ul",
        { class: "legend" },
        ["completed", "failed", "coming"].map((each) => h("li", { class: each }, each === "coming" ? "to come" : each)),
      ),
    ),
  );
}
