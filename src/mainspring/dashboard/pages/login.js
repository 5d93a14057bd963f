/**
 * Asks for a key, where keys are needed.
 *
 * @import { Screen } from "../types.js"
 */

import { Problem, get } from "../api.js";
import { h } from "../dom.js";
import { command } from "../parts.js";
import * as session from "../session.js";

/** @param {() => void} signedIn @returns {Screen} */
export function loginPage(signedIn) {
  const before = session.key();
  const field = h("input", {
    type: "password",
    name: "key",
    autocomplete: "current-password",
    spellcheck: "false",
    required: true,
    placeholder: "ms_live_…",
    "aria-describedby": "login-fault",
  });
  const fault = h(
    "p",
    { class: "fault", id: "login-fault", role: "alert" },
    before === null ? "" : "This key is no longer good.",
  );
  session.signOut();

  const enter = async (/** @type {Event} */ event) => {
    event.preventDefault();
    fault.textContent = "";
    session.signIn(field.value.trim());
    try {
      await get("health");
      signedIn();
    } catch (error) {
      session.signOut();
      fault.textContent =
        error instanceof Problem && error.status === 401
          ? "This key is unknown, revoked or expired."
          : error instanceof Error
            ? error.message
            : String(error);
      field.select();
    }
  };
  const element = h(
    "div",
    { class: "page login" },
    h(
      "form",
      { class: "card", on: { submit: (/** @type {Event} */ event) => void enter(event) } },
      h("h1", { tabindex: "-1" }, "Sign in"),
      h("p", { class: "faint" }, "This server needs an API key. It is kept for this tab only."),
      h("label", { class: "field" }, "API key", field),
      fault,
      h("button", { type: "submit", class: "button primary" }, "Sign in"),
      h(
        "details",
        null,
        h("summary", null, "I have no key"),
        h("p", null, "Make one where the server's data is:"),
        command("mainspring key create --owner ada --scope admin"),
      ),
    ),
  );
  return { title: "Sign in", element };
}
