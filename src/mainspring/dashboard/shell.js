/** The frame around all pages: where one can go, and whether what is seen is live. */

/** @import { Route } from "./types.js" */

import * as clock from "./clock.js";
import { h, refresh, s } from "./dom.js";
import { clockTime, compact, duration } from "./format.js";
import { icon } from "./icons.js";
import * as live from "./live.js";
import { zone } from "./preferences.js";
import { href } from "./router.js";
import { tell, toasts } from "./toast.js";

const PLACES = [
  { name: "Overview", path: /** @type {string[]} */ ([]), picture: "overview" },
  { name: "Jobs", path: ["jobs"], picture: "jobs" },
  { name: "Executions", path: ["executions"], picture: "executions" },
  { name: "Dead letters", path: ["dead-letters"], picture: "dead" },
  { name: "Workers", path: ["workers"], picture: "workers" },
  { name: "Locks", path: ["locks"], picture: "locks" },
  { name: "Audit", path: ["audit"], picture: "audit" },
  { name: "Settings", path: ["settings"], picture: "settings" },
];
const SPIRAL =
  "M16.2 16.4c.5-.9 1.9-.5 2.1.6.3 1.9-1.5 3.3-3.3 3.1-2.7-.3-4.3-3-3.7-5.5.8-3.4 4.4-5.2 7.7-4.2 4.1 1.2 6.1 5.7 4.7 9.6-.6 1.7-1.7 3.1-3.2 4.1";
const SKEW_WORTH_SAYING_MS = 5000;

export class Shell {
  outlet = h("main", { id: "main", tabindex: "-1" });
  #list = h("ul");
  #status = h("div", { class: "status" });
  #banner = h("div", { class: "banner", role: "status" });
  #navigation = h("nav", { class: "side", "aria-label": "Pages" });
  #toggle = h(
    "button",
    {
      type: "button",
      class: "button quiet bare menu",
      "aria-label": "Pages",
      "aria-expanded": "false",
      on: { click: () => this.#open(!this.#isOpen()) },
    },
    icon("menu"),
  );
  /** @type {Route} */
  #route = { path: [], query: {} };

  constructor() {
    const skip = h(
      "a",
      { class: "skip", href: "#main", on: { click: (/** @type {Event} */ event) => this.#skip(event) } },
      "Skip to the page",
    );
    refresh(this.#navigation, brand(), this.#toggle, this.#list, this.#status);
    this.elements = [skip, this.#navigation, h("div", { class: "frame" }, this.#banner, this.outlet), toasts];
    live.onFigures(() => this.#refresh());
    live.onReturn(() => tell("Connected again. What was missed is shown."));
    setInterval(() => this.#refreshStatus(), 1000);
    this.#navigation.addEventListener("keydown", (event) => event.key === "Escape" && this.#open(false));
    this.#refresh();
  }

  /** Show which page is open. @param {Route} route */
  mark(route) {
    this.#route = route;
    this.#open(false);
    this.#refresh();
  }

  /** Without a key there is nowhere to go. @param {boolean} locked */
  lock(locked) {
    this.#navigation.hidden = locked;
    this.#banner.hidden = locked;
    document.body.classList.toggle("locked", locked);
  }

  /** @param {Event} event */
  #skip(event) {
    event.preventDefault();
    this.outlet.focus();
  }

  #isOpen() {
    return this.#navigation.classList.contains("open");
  }

  /** @param {boolean} open */
  #open(open) {
    this.#navigation.classList.toggle("open", open);
    this.#toggle.setAttribute("aria-expanded", String(open));
  }

  #refresh() {
    const here = this.#route.path[0] ?? "";
    refresh(
      this.#list,
      PLACES.map(({ name, path, picture }) =>
        h(
          "li",
          null,
          h(
            "a",
            { href: href(path), "aria-current": here === (path[0] ?? "") ? "page" : null },
            icon(picture),
            h("span", null, name),
            name === "Dead letters" && live.state.metrics?.dead_letters
              ? h(
                  "span",
                  { class: "count" },
                  compact(live.state.metrics.dead_letters),
                  h("span", { class: "unseen" }, " waiting"),
                )
              : null,
          ),
        ),
      ),
    );
    this.#refreshStatus();
  }

  #refreshStatus() {
    const { connection, lostAt } = live.state;
    const words = { connecting: "Connecting", live: "Live", lost: "Connection lost" };
    refresh(
      this.#status,
      h("p", { class: `connection ${connection}`, title: "Changes are shown as they happen." }, words[connection]),
      h(
        "p",
        { class: "faint clock", title: "The server's clock" },
        clock.known() ? `${clockTime(clock.now(), { seconds: true })}${zone() ? " UTC" : ""}` : " ",
      ),
    );
    refresh(this.#banner, connection === "lost" ? this.#lost(lostAt) : this.#skew());
  }

  /** Said once, not anew each second: it is read out. @param {number} at */
  #lost(at) {
    const text = `The connection was lost at ${clockTime(at, { seconds: true })}. What you see is from then; it goes on by itself.`;
    return h(
      "div",
      { class: "notice bad" },
      h("p", null, text),
      h("button", { type: "button", class: "button", on: { click: live.hurry } }, "Try now"),
    );
  }

  #skew() {
    const ahead = clock.browserAhead();
    if (Math.abs(ahead) < SKEW_WORTH_SAYING_MS) return null;
    const way = ahead > 0 ? "ahead" : "behind";
    return h(
      "div",
      { class: "notice" },
      h("p", null, `This computer's clock is ${duration(Math.abs(ahead))} ${way}. Times here follow the server's.`),
    );
  }
}

function brand() {
  return h(
    "a",
    { class: "brand", href: href([]) },
    s(
      "svg",
      { viewBox: "0 0 32 32", "aria-hidden": "true" },
      s("rect", { width: 32, height: 32, rx: 8 }),
      s("path", { d: SPIRAL }),
    ),
    h("span", null, "Mainspring"),
  );
}
