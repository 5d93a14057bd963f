/**
 * Pieces that many pages are made of.
 *
 * @import { Child, ExecutionStatus, JobStatus } from "./types.js"
 */

import { Problem } from "./api.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { indented } from "./json.js";
import { href } from "./router.js";
import { complain, tell } from "./toast.js";

/** @param {JobStatus | ExecutionStatus | string} status */
export const badge = (status) => h("span", { class: `badge ${status.toLowerCase()}` }, status.toLowerCase());

/**
 * @param {string} title
 * @param {Child} [actions]
 * @param {Child} [above] where one comes from
 */
export function heading(title, actions = null, above = null) {
  return h(
    "header",
    { class: "heading" },
    h("div", null, above, h("h1", { tabindex: "-1" }, title)),
    actions ? h("div", { class: "actions" }, actions) : null,
  );
}

/**
 * @param {string} title
 * @param {Child} content
 * @param {{actions?: Child, note?: Child, class?: string}} [options]
 */
export function section(title, content, { actions = null, note = null, class: extra = "" } = {}) {
  return h(
    "section",
    { class: `card ${extra}`, "aria-label": title, key: `section ${title}` },
    h("header", null, h("h2", null, title), note ? h("p", { class: "note" }, note) : null, actions),
    content,
  );
}

/**
 * @param {string} label
 * @param {{icon?: string, kind?: string, on?: Record<string, (event: any) => void>, disabled?: boolean, title?: string, key?: string, bare?: boolean}} options
 */
export function button(label, { icon: picture, kind = "", on, disabled = false, title, key, bare = false }) {
  const named = bare ? { "aria-label": label, title: title ?? label } : { title };
  return h(
    "button",
    { type: "button", class: `button ${kind} ${bare ? "bare" : ""}`, on, disabled, key, ...named },
    picture ? icon(picture) : null,
    bare ? null : h("span", null, label),
  );
}

/**
 * @param {string} label
 * @param {string} target
 * @param {{icon?: string, kind?: string}} [options]
 */
export const linkButton = (label, target, { icon: picture, kind = "" } = {}) =>
  h("a", { class: `button ${kind}`, href: target }, picture ? icon(picture) : null, h("span", null, label));

/**
 * Nothing is here: say why, and what to do next.
 * @param {string} title
 * @param {...Child} advice
 */
export const empty = (title, ...advice) =>
  h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), h("div", { class: "advice" }, ...advice));

/**
 * Something couldn't be read.
 * @param {unknown} error
 * @param {() => void} [again]
 */
export function failure(error, again) {
  const message = error instanceof Error ? error.message : String(error);
  const title = error instanceof Problem && error.status === 0 ? "The server can't be reached" : "That didn't work";
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", { class: "empty-title" }, title),
    h("p", null, message),
    again ? button("Try again", { icon: "retry", on: { click: again } }) : null,
  );
}

/** @param {string} [what] */
export const loading = (what = "Loading") =>
  h("div", { class: "loading", role: "status" }, h("span", null, `${what}…`));

/**
 * Text to read and copy: what users or programs wrote.
 * @param {string} text
 * @param {{label: string, kind?: string}} options
 */
export const verbatim = (text, { label, kind = "" }) =>
  h("pre", { class: `verbatim ${kind}`, tabindex: "0", role: "group", "aria-label": label }, text);

/**
 * A JSON value as it was written, with line breaks.
 * @param {string | undefined} raw
 * @param {string} label
 */
export function json(raw, label) {
  if (raw === undefined) return h("p", { class: "faint" }, "too long for this page");
  if (raw === "null") return h("p", { class: "faint" }, "none");
  return verbatim(indented(raw), { label });
}

/**
 * Names and values.
 * @param {[string, Child][]} pairs
 */
export const facts = (pairs) =>
  h(
    "dl",
    { class: "facts" },
    pairs.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))),
  );

/**
 * A command to type, with a button that copies it.
 * @param {string} text
 */
export const command = (text) =>
  h(
    "div",
    { class: "command" },
    h("code", null, text),
    button("Copy", { icon: "copy", kind: "quiet", bare: true, on: { click: () => void copy(text) } }),
  );

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied.");
  } catch {
    complain(new Error("The browser doesn't allow copying here: select the text instead."));
  }
}

/**
 * @param {string} id
 * @param {string} name
 */
export const jobLink = (id, name) => h("a", { href: href(["jobs", id]), class: "name" }, name || "unnamed");

/** How many of a worker's slots are in use. @param {{executing: number, capacity: number}} worker */
export const slots = ({ executing, capacity }) =>
  h(
    "span",
    { class: "slots" },
    h(
      "span",
      { class: "bar", "aria-hidden": "true" },
      h("span", { style: { "--part": executing / Math.max(capacity, 1) } }),
    ),
    h("span", null, `${executing} of ${capacity}`),
  );

/** Whether a worker takes work. @param {import("./types.js").Worker} worker */
export function workerState({ status, executing, trouble }) {
  if (trouble) return h("span", { class: "light bad", title: trouble }, trouble);
  if (status === "active") return h("span", { class: "light good" }, "active");
  if (status === "drained") return h("span", { class: "light" }, "drained");
  return h("span", { class: "light warn" }, `draining, ${executing} left`);
}

/**
 * @param {{columns: string[], rows: Child[], label: string, class?: string}} options columns that begin with . have no title to see
 */
export const table = ({ columns, rows, label, class: extra = "" }) =>
  h(
    "div",
    { class: `table ${extra}`, tabindex: "0", role: "group", "aria-label": label },
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          columns.map((name) => h("th", { scope: "col" }, columnTitle(name))),
        ),
      ),
      h("tbody", null, rows),
    ),
  );

/** @param {string} name */
const columnTitle = (name) => (name.startsWith(".") ? h("span", { class: "unseen" }, name.slice(1)) : name);

/**
 * Calls *action* once after the last call, when nothing has come for a while; never after its end.
 * @param {() => void} action
 * @param {number} ms
 */
export function settled(action, ms) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const end = () => clearTimeout(timer);
  const call = () => {
    end();
    timer = setTimeout(action, ms);
  };
  return { call, end };
}

/**
 * Calls *action* soon, but never twice at once and never more often than every *ms*: the rest is done with the next.
 * What somebody waits for is hurried: it doesn't rest first.
 * @param {() => Promise<void>} action
 * @param {number} ms
 */
export function paced(action, ms) {
  let running = false;
  let wanted = false;
  let urgent = false;
  let ended = false;
  /** @type {ReturnType<typeof setTimeout> | null} */
  let resting = null;

  const run = async () => {
    running = true;
    wanted = urgent = false;
    const began = performance.now();
    await action();
    running = false;
    // What takes long is asked for less often.
    const rest = urgent ? 0 : Math.max(ms, 4 * (performance.now() - began));
    resting = setTimeout(wake, rest);
  };
  const wake = () => {
    resting = null;
    if (wanted && !ended) void run();
  };
  const call = () => {
    wanted = true;
    if (!running && resting === null) wake();
  };
  const hurry = () => {
    urgent = true;
    if (resting !== null) clearTimeout(resting);
    resting = null;
    call();
  };
  const end = () => {
    ended = true;
  };
  return { call, hurry, end };
}
