/** The same thing done to many, with its progress to see and a way to stop. */

import { confirm, open } from "./dialog.js";
import { h } from "./dom.js";
import { number, plural } from "./format.js";

const AT_ONCE = 4;
const SHOWN_ERRORS = 5;

/**
 * @template Item
 * @typedef {object} Work
 * @property {string} title
 * @property {import("./types.js").Child} question
 * @property {string} yes
 * @property {boolean} [danger]
 * @property {number | null} total null if nobody knows how many there are
 * @property {() => AsyncIterable<Item>} items
 * @property {(item: Item) => Promise<unknown>} act
 * @property {(item: Item) => string} name
 */

/**
 * Ask, then do it; how many were done.
 * @template Item
 * @param {Work<Item>} work
 * @returns {Promise<number>}
 */
export async function forAll(work) {
  if (!(await confirm({ title: work.title, content: work.question, yes: work.yes, danger: work.danger }))) return 0;
  const progress = new Progress(work.title, work.total);
  const iterator = work.items()[Symbol.asyncIterator]();
  const take = async () => {
    while (!progress.stopped) {
      const { value, done } = await iterator.next();
      if (done) return;
      try {
        await work.act(value);
        progress.step();
      } catch (error) {
        progress.step(`${work.name(value)}: ${error instanceof Error ? error.message : error}`);
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, take));
  } catch (error) {
    progress.step(error instanceof Error ? error.message : String(error));
  }
  progress.end();
  return progress.done;
}

/** A dialog that shows how far something has got. */
export class Progress {
  stopped = false;
  done = 0;
  /** @type {string[]} */
  #errors = [];
  #failed = 0;

  /**
   * @param {string} title
   * @param {number | null} total
   */
  constructor(title, total) {
    this.total = total;
    this.bar = h("progress", { "aria-label": title, ...(total === null ? {} : { max: total }) });
    this.text = h("p", { role: "status" }, "Beginning…");
    this.list = h("ul", { class: "errors" });
    this.button = h("button", { type: "button", class: "button", on: { click: () => this.#press() } }, "Stop");
    this.dialog = open({ title, content: [this.bar, this.text, this.list], buttons: [this.button] });
    this.dialog.addEventListener("cancel", () => (this.stopped = true));
    if (total !== null) this.bar.value = 0;
  }

  /**
   * One more is through, or has failed.
   * @param {string} [error]
   * @param {number} [count]
   */
  step(error, count = 1) {
    if (error === undefined) this.done += count;
    else this.#fail(error);
    if (this.total !== null) this.bar.value = this.done + this.#failed;
    const of = this.total === null ? "" : ` of ${number(this.total)}`;
    this.text.textContent = `${number(this.done)}${of} done${this.#failed ? `, ${plural(this.#failed, "failure")}` : ""}`;
  }

  /** All is through: with nothing to read the dialog closes by itself. */
  end() {
    this.bar.max = 1;
    this.bar.value = 1;
    this.button.textContent = "Close";
    const stopped = this.stopped ? "Stopped. " : "";
    this.text.textContent = `${stopped}${number(this.done)} done${this.#failed ? `, ${plural(this.#failed, "failure")}` : ""}.`;
    this.stopped = true;
  }

  #press() {
    if (this.stopped) this.dialog.close();
    this.stopped = true;
  }

  /** @param {string} error */
  #fail(error) {
    this.#failed += 1;
    this.#errors.push(error);
    if (this.#errors.length <= SHOWN_ERRORS) this.list.append(h("li", null, error));
  }
}
