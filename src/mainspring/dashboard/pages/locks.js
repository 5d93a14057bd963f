/**
 * Locks: who holds one, until when, and a way to give it up for somebody who is gone.
 *
 * The API shows a lock to those who know its name; those that were taken lately are found in the audit.
 *
 * @import { AuditEntry, Lock, Page, Route, Screen } from "../types.js"
 */

import { Problem, get, post } from "../api.js";
import { confirm } from "../dialog.js";
import { h, refresh } from "../dom.js";
import { ago, number } from "../format.js";
import { icon } from "../icons.js";
import { button, command, empty, failure, heading, loading, paced, section, table } from "../parts.js";
import { navigate } from "../router.js";
import { complain, tell } from "../toast.js";

const EVERY_MS = 5000;
const MOST = 30;

/** @param {string} name */
const pathOf = (name) => `locks/${name.split("/").map(encodeURIComponent).join("/")}`;

/** @param {Route} first @returns {Screen} */
export function locksPage(first) {
  const element = h("div", { class: "page locks" });
  let { query } = first;
  /** @type {Lock[] | null} */
  let held = null;
  /** @type {Lock | "free" | null} */
  let found = null;
  let auditable = true;
  /** @type {unknown} */
  let problem = null;

  const load = paced(async () => {
    try {
      const names = await recent().catch((error) => {
        if (error instanceof Problem && error.status === 403) auditable = false;
        else throw error;
        return [];
      });
      const locks = await Promise.all(names.map(look));
      held = locks.filter((each) => each !== "free");
      found = query.name ? await look(query.name) : null;
      problem = null;
    } catch (error) {
      problem = error;
    }
    draw();
  }, 500);
  const timer = setInterval(() => document.hidden || load.call(), EVERY_MS);

  const release = async (/** @type {Lock} */ lock) => {
    const content = `${lock.holder} believes that it holds this lock. Whatever it guards may be done twice, unless it checks the fence ${lock.token}.`;
    if (!(await confirm({ title: `Release ${lock.name}?`, content, yes: "Release", danger: true }))) return;
    try {
      await post(`${pathOf(lock.name)}/release`, { holder: lock.holder, token: lock.token });
      tell(`Released ${lock.name}.`);
    } catch (error) {
      complain(error);
    }
    load.call();
  };
  const search = (/** @type {Event} */ event) => {
    event.preventDefault();
    const field = /** @type {HTMLFormElement} */ (event.currentTarget).elements.namedItem("name");
    navigate(["locks"], { name: /** @type {HTMLInputElement} */ (field).value.trim() }, { replace: true });
  };

  function draw() {
    refresh(
      element,
      heading("Locks"),
      h(
        "form",
        { class: "filters", role: "search", on: { submit: search } },
        h(
          "label",
          { class: "search" },
          h("span", { class: "unseen" }, "Name of a lock"),
          icon("search"),
          h("input", {
            type: "search",
            name: "name",
            placeholder: "Name of a lock",
            autocomplete: "off",
            value: query.name ?? "",
          }),
        ),
        h("button", { type: "submit", class: "button" }, "Look"),
      ),
      query.name && found !== null
        ? section(
            query.name,
            found === "free" ? h("p", { class: "calm good" }, "Nobody holds it.") : list([found], release),
          )
        : null,
      problem ? failure(problem, load.hurry) : held === null ? loading() : null,
      held === null || problem
        ? null
        : section("Held now", held.length === 0 ? nothing(auditable) : list(held, release), {
            note: auditable ? "of those that were taken lately" : null,
          }),
    );
  }

  draw();
  load.call();
  return {
    title: "Locks",
    element,
    update(route) {
      query = route.query;
      found = null;
      load.hurry();
    },
    dispose() {
      clearInterval(timer);
      load.end();
    },
  };
}

/** @returns {Promise<string[]>} */
async function recent() {
  /** @type {Page<AuditEntry>} */
  const { items } = await get("audit", { limit: 100 });
  const names = items
    .filter(({ action }) => action === "lock.acquire" || action === "lock.renew")
    .map(({ subject }) => subject.replace(/^lock:/, ""));
  return [...new Set(names)].slice(0, MOST);
}

/**
 * @param {string} name
 * @returns {Promise<Lock | "free">}
 */
async function look(name) {
  try {
    return await get(pathOf(name));
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return "free";
    throw error;
  }
}

/**
 * @param {Lock[]} locks
 * @param {(lock: Lock) => void} release
 */
const list = (locks, release) =>
  table({
    label: "Locks",
    class: "stack",
    columns: ["Name", "Holder", "Fence", "Ends", ".Actions"],
    rows: locks.map((lock) =>
      h(
        "tr",
        { key: lock.name },
        h("td", { class: "main" }, h("span", { class: "name" }, lock.name)),
        h("td", { "data-name": "Holder" }, lock.holder),
        h("td", { "data-name": "Fence" }, number(lock.token)),
        h("td", { "data-name": "Ends" }, ago(lock.expires_at)),
        h(
          "td",
          { class: "acts" },
          button(`Release ${lock.name}`, {
            kind: "danger-quiet",
            icon: "locks",
            bare: true,
            title: "Release",
            on: { click: () => void release(lock) },
          }),
        ),
      ),
    ),
  });

/** @param {boolean} auditable */
const nothing = (auditable) =>
  empty(
    auditable ? "No lock is held, as far as the audit tells." : "Only keys with the scope admin may list them.",
    h("p", null, "Look one up by its name, or take one:"),
    command("mainspring lock run nightly -- sleep 60"),
  );
