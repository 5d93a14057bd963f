/**
 * Locks: who holds one, until when, and a way to give it up for somebody who is gone.
 *
 * @import { Lock, Page, Route, Screen } from "../types.js"
 */

import { Problem, collect, get, post } from "../api.js";
import * as clock from "../clock.js";
import { confirm } from "../dialog.js";
import { h, refresh } from "../dom.js";
import { ago, number } from "../format.js";
import { icon } from "../icons.js";
import { button, command, empty, failure, heading, loading, paced, section, table } from "../parts.js";
import { navigate } from "../router.js";
import { complain, tell } from "../toast.js";

const EVERY_MS = 3000;
const MOST = 200;

/** @param {string} name */
const pathOf = (name) => `locks/${name.split("/").map(encodeURIComponent).join("/")}`;

/** @param {Route} first @returns {Screen} */
export function locksPage(first) {
  const element = h("div", { class: "page locks" });
  let { query } = first;
  /** @type {Page<Lock> | null} */
  let held = null;
  /** @type {Lock | "free" | null} */
  let found = null;
  let asked = 0;
  /** @type {unknown} */
  let problem = null;

  const load = paced(async () => {
    asked = performance.now();
    try {
      const [page, looked] = await Promise.all([collect("locks", {}, MOST), query.name ? look(query.name) : null]);
      held = page;
      found = looked;
      problem = null;
    } catch (error) {
      problem = error;
    }
    draw();
  }, 500);
  const timer = setInterval(() => {
    if (document.hidden) return;
    if (performance.now() - asked >= EVERY_MS) load.call();
    else if (held?.items.some(ended)) draw();
  }, 1000);

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
        { class: "filters whole", role: "search", on: { submit: search } },
        h(
          "label",
          { class: "search" },
          h("span", { class: "unseen" }, "Name of a lock"),
          icon("search"),
          h("input", {
            type: "search",
            name: "name",
            placeholder: "Whole name of a lock",
            autocomplete: "off",
            value: query.name ?? "",
          }),
        ),
        h("button", { type: "submit", class: "button" }, "Look"),
      ),
      query.name && found !== null
        ? section(
            query.name,
            found === "free" || ended(found) ? h("p", { class: "calm good" }, "Nobody holds it.") : list([found], release),
          )
        : null,
      problem ? failure(problem, load.hurry) : held === null ? loading() : null,
      held === null || problem ? null : section("Held now", heldList(held, release), { note: notAll(held) }),
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
            icon: "unlock",
            bare: true,
            title: "Release",
            on: { click: () => void release(lock) },
          }),
        ),
      ),
    ),
  });

/**
 * By name: in the order in which they end they would change places with every renewal.
 * @param {Page<Lock>} page
 * @param {(lock: Lock) => void} release
 */
function heldList({ items }, release) {
  const locks = items.filter((lock) => !ended(lock)).sort((a, b) => a.name.localeCompare(b.name));
  return locks.length === 0 ? nothing() : list(locks, release);
}

/** @param {Page<Lock>} page */
const notAll = ({ items, next }) => (next === null ? null : `the ${number(items.length)} that end first`);

/** @param {Lock} lock */
const ended = ({ expires_at }) => Date.parse(expires_at) <= clock.now();

const nothing = () =>
  empty(
    "No lock is held.",
    h("p", null, "Locks that handlers, clients or commands take appear here by themselves. Take one:"),
    command("mainspring lock acquire nightly --ttl 10m"),
  );
