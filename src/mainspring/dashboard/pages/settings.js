/**
 * What one likes to see, who one is, and how keys are made.
 *
 * @import { Screen } from "../types.js"
 */

import { h, refresh } from "../dom.js";
import { keysPart } from "./keys.js";
import { button, facts, heading, section } from "../parts.js";
import { prefer, preferences } from "../preferences.js";
import * as session from "../session.js";
import { help } from "../shortcuts.js";
import { tell } from "../toast.js";

/** @returns {Screen} */
export function settingsPage() {
  const element = h("div", { class: "page settings" });
  const keys = keysPart();

  function draw() {
    const { theme, zone, traces } = preferences();
    refresh(
      element,
      heading("Settings"),
      section("Appearance", [
        choice(
          "Colours",
          "theme",
          [
            ["system", "As the system"],
            ["light", "Light"],
            ["dark", "Dark"],
          ],
          theme,
          (value) => prefer({ theme: /** @type {any} */ (value) }),
        ),
        choice(
          "Times",
          "zone",
          [
            ["local", `Here (${Intl.DateTimeFormat().resolvedOptions().timeZone})`],
            ["UTC", "UTC"],
          ],
          zone,
          (value) => prefer({ zone: /** @type {any} */ (value) }),
        ),
        button("Show shortcuts", { on: { click: help } }),
      ]),
      section("Access", access()),
      section("API keys", keys),
      section("Traces", [
        h(
          "p",
          { class: "faint" },
          "Where the trace of an execution is to be seen, with {execution} or {job} for its id. It is kept in this browser.",
        ),
        h(
          "label",
          { class: "field" },
          "Address",
          h("input", {
            name: "traces",
            type: "url",
            placeholder: "https://traces.example.com/search?q={execution}",
            value: traces,
            on: { change: (/** @type {Event} */ event) => traced(event) },
          }),
        ),
      ]),
      section(
        "Elsewhere",
        facts([
          ["API", h("a", { href: "../docs" }, "Every endpoint, with its fields")],
          ["Metrics", h("a", { href: "../metrics" }, "For Prometheus")],
        ]),
      ),
    );
  }

  function access() {
    if (session.key() !== null) {
      const leave = () => {
        session.signOut();
        session.refused();
      };
      return [
        h(
          "p",
          null,
          "You are signed in with a key. It is kept for this tab only, and forgotten when the tab is closed.",
        ),
        button("Sign out", { on: { click: leave } }),
      ];
    }
    return [
      h(
        "p",
        null,
        "No key exists: everybody on this machine may do everything, and nobody else can reach it. From the first key on, one is needed everywhere, here too.",
      ),
    ];
  }

  draw();
  return { title: "Settings", element };
}

/** @param {Event} event */
function traced(event) {
  const field = /** @type {HTMLInputElement} */ (event.target);
  prefer({ traces: field.value.trim() });
  tell(field.value.trim() ? "Executions now link to their traces." : "Executions no longer link to traces.");
}

/**
 * @param {string} label
 * @param {string} name
 * @param {string[][]} options
 * @param {string} value
 * @param {(value: string) => void} choose
 */
const choice = (label, name, options, value, choose) =>
  h(
    "fieldset",
    { class: "choice" },
    h("legend", null, label),
    options.map(([each, text]) =>
      h(
        "label",
        null,
        h("input", { type: "radio", name, value: each, checked: each === value, on: { change: () => choose(each) } }),
        text,
      ),
    ),
  );
