/** Begins: the frame around all pages, and the page that the address names. */

import { keepTimesRight } from "./format.js";
import * as live from "./live.js";
import { openPage } from "./pages.js";
import * as preferences from "./preferences.js";
import { currentRoute } from "./router.js";
import * as session from "./session.js";
import { Shell } from "./shell.js";
import { listenForShortcuts } from "./shortcuts.js";

/** @import { Route, Screen } from "./types.js" */

const shell = new Shell();
/** @type {Screen | null} */
let screen = null;
let shown = "";
let locked = false;

/** @param {Route} route */
const pageOf = ({ path }) => (locked ? "login" : path.join("/"));

/** @param {{focus?: boolean}} [options] */
function show({ focus = true } = {}) {
  const route = currentRoute();
  const page = pageOf(route);
  shell.mark(route);
  if (screen?.update && page === shown) {
    screen.update(route);
    return;
  }
  screen?.dispose?.();
  screen = locked ? openPage("login", route, unlock) : openPage(route.path[0] ?? "overview", route);
  shown = page;
  document.title = `${screen.title} · Mainspring`;
  shell.outlet.replaceChildren(screen.element);
  globalThis.scrollTo(0, 0);
  // Whoever listens hears where they are; whoever types goes on from the top of the page.
  if (focus) shell.outlet.querySelector("h1")?.focus({ preventScroll: true });
}

function lock() {
  if (locked) return;
  locked = true;
  live.stop();
  shell.lock(true);
  show();
}

function unlock() {
  locked = false;
  shell.lock(false);
  live.start();
  show();
}

preferences.apply();
session.onRefused(lock);
// Until now the page has shown its head alone, so that there is something to see before everything has come.
document.body.replaceChildren(...shell.elements);
globalThis.addEventListener("hashchange", () => show());
keepTimesRight();
listenForShortcuts();
live.start();
show({ focus: false });
