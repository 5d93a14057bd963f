/**
 * API keys: which there are, a new one, and the end of one.
 *
 * @import { ApiKey, NewKey, Page } from "../types.js"
 */

import { Problem, ask, get, post } from "../api.js";
import { confirm, open } from "../dialog.js";
import { h, refresh } from "../dom.js";
import { ago } from "../format.js";
import { button, command, failure, loading, table } from "../parts.js";
import * as session from "../session.js";
import { complain, tell } from "../toast.js";

const DAY_MS = 24 * 3600 * 1000;
const LIVES = [
  ["", "for ever"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "a year"],
];

/** The keys that one may see, as a part of a page. */
export function keysPart() {
  const element = h("div", { class: "api-keys" });

  const load = async () => {
    try {
      /** @type {Page<ApiKey>} */
      const { items } = await get("keys");
      refresh(element, items.length > 0 ? list(items, revoke) : null, form(create));
    } catch (error) {
      if (error instanceof Problem && error.status === 403)
        refresh(element, h("p", { class: "faint" }, "Keys are shown to those whose own has the scope admin."));
      else refresh(element, failure(error, () => void load()));
    }
  };

  const create = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const fields = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const days = Number(fields.get("days"));
    const wanted = { name: fields.get("name"), scope: fields.get("scope"), owner: fields.get("owner") || undefined };
    try {
      /** @type {NewKey} */
      const made = await post("keys", days ? { ...wanted, expires_in_ms: days * DAY_MS } : wanted);
      // From the first key on one is needed; whoever made it goes on with it, if it lets them.
      if (session.key() === null && made.scope === "admin") session.signIn(made.key);
      await show(made);
    } catch (error) {
      complain(error);
    }
    void load();
  };

  const revoke = async (/** @type {ApiKey} */ key) => {
    const content = "Whoever uses it is refused within a second, for good. The jobs that it made stay.";
    if (!(await confirm({ title: `Revoke ${nameOf(key)}?`, content, yes: "Revoke", danger: true }))) return;
    try {
      await ask("DELETE", `keys/${key.id}`);
      tell(`Revoked ${nameOf(key)}.`);
    } catch (error) {
      complain(error);
    }
    void load();
  };

  refresh(element, loading());
  void load();
  return element;
}

/** @param {ApiKey} key */
const nameOf = (key) => key.name || `a key of ${key.owner}`;

/**
 * Resolves once it was put away.
 * @param {NewKey} made
 * @returns {Promise<void>}
 */
const show = (made) =>
  new Promise((resolve) => {
    const dialog = open({
      title: "Keep it now",
      content: [h("p", null, "Only a hash of this key is stored: it isn't shown again."), command(made.key)],
      buttons: [button("I have it", { kind: "primary", on: { click: () => dialog.close() } })],
    });
    dialog.addEventListener("close", () => resolve());
  });

/**
 * @param {ApiKey[]} keys
 * @param {(key: ApiKey) => void} revoke
 */
const list = (keys, revoke) =>
  table({
    label: "API keys",
    class: "stack",
    columns: ["Name", "Owner", "Scope", "Made", "Used", "Ends", ".Actions"],
    rows: keys.map((key) =>
      h(
        "tr",
        { key: key.id },
        h("td", { class: "main" }, h("span", { class: "name" }, nameOf(key))),
        h("td", { "data-name": "Owner" }, key.owner),
        h("td", { "data-name": "Scope" }, key.scope),
        h("td", { "data-name": "Made" }, ago(key.created_at)),
        h("td", { "data-name": "Used" }, key.last_used_at ? ago(key.last_used_at) : "never"),
        h("td", { "data-name": "Ends" }, ending(key)),
        h(
          "td",
          { class: "acts" },
          key.valid
            ? button(`Revoke ${nameOf(key)}`, {
                kind: "danger-quiet",
                icon: "trash",
                bare: true,
                title: "Revoke",
                on: { click: () => void revoke(key) },
              })
            : null,
        ),
      ),
    ),
  });

/** @param {ApiKey} key */
function ending(key) {
  if (key.revoked_at) return ["revoked ", ago(key.revoked_at)];
  if (key.expires_at) return ago(key.expires_at);
  return "never";
}

/** @param {(event: SubmitEvent) => void} create */
const form = (create) =>
  h(
    "form",
    { class: "filters", "aria-label": "New key", on: { submit: create } },
    h("label", { class: "field" }, "Name", h("input", { name: "name", maxlength: "200", autocomplete: "off" })),
    h("label", { class: "field" }, "Owner", h("input", { name: "owner", maxlength: "200", autocomplete: "off" })),
    h(
      "label",
      { class: "field" },
      "Scope",
      h(
        "select",
        { name: "scope" },
        ["read", "write", "admin"].map((scope) => h("option", { value: scope }, scope)),
      ),
    ),
    h(
      "label",
      { class: "field" },
      "Good",
      h(
        "select",
        { name: "days" },
        LIVES.map(([days, text]) => h("option", { value: days }, text)),
      ),
    ),
    h("button", { type: "submit", class: "button" }, "Make a key"),
  );
