/** Keys for those who don't want to reach for the mouse. `?` lists them. */

import { open } from "./dialog.js";
import { h } from "./dom.js";
import { navigate } from "./router.js";

/** @type {Record<string, [string, string[]]>} */
const PLACES = {
  o: ["Overview", []],
  j: ["Jobs", ["jobs"]],
  e: ["Executions", ["executions"]],
  d: ["Dead letters", ["dead-letters"]],
  w: ["Workers", ["workers"]],
  l: ["Locks", ["locks"]],
  a: ["Audit", ["audit"]],
  s: ["Settings", ["settings"]],
};
const PATIENCE_MS = 1500;

let going = 0;

export function listenForShortcuts() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    if (handle(event.key)) event.preventDefault();
  });
}

/** @param {string} key */
function handle(key) {
  if (performance.now() - going < PATIENCE_MS && key in PLACES) {
    going = 0;
    navigate(PLACES[key][1]);
    return true;
  }
  going = key === "g" ? performance.now() : 0;
  if (key === "n") navigate(["jobs", "new"]);
  else if (key === "/") search();
  else if (key === "?") help();
  else return false;
  return true;
}

function search() {
  const field = document.querySelector("input[type=search]");
  if (field instanceof HTMLElement) field.focus();
  else navigate(["jobs"]);
}

/** @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;

export function help() {
  const close = h("button", { type: "button", class: "button primary", on: { click: () => dialog.close() } }, "Close");
  const rows = [
    ["/", "Search"],
    ["n", "New job"],
    ...Object.entries(PLACES).map(([key, [name]]) => [`g ${key}`, name]),
    ["?", "This list"],
  ];
  const content = h(
    "dl",
    { class: "keys" },
    rows.map(([keys, name]) =>
      h(
        "div",
        null,
        h(
          "dt",
          null,
          keys.split(" ").map((key) => h("kbd", null, key)),
        ),
        h("dd", null, name),
      ),
    ),
  );
  const dialog = open({ title: "Keys", content, buttons: [close] });
}
