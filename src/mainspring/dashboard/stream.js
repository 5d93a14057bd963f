/**
 * The event stream. Unlike the browser's own EventSource it can show a key, and it says what state it is in.
 *
 * After a break it goes on from the last id that it saw, so that nothing is missed; the server tells when it can't.
 */

import { address, credentials } from "./api.js";
import * as session from "./session.js";

const SILENCE_MS = 40_000;
const LONGEST_WAIT_MS = 15_000;

/** @typedef {"connecting" | "live" | "lost"} State */

export class EventStream {
  #lastId = "";
  #wait = 2000;
  #failures = 0;
  #stopped = false;
  #ended = new AbortController();
  #controller = new AbortController();
  /** @type {(() => void) | null} */
  #hurry = null;

  /**
   * @param {(type: string, data: any) => void} onEvent
   * @param {(state: State) => void} onState
   */
  constructor(onEvent, onState) {
    this.onEvent = onEvent;
    this.onState = onState;
    globalThis.addEventListener("online", () => this.hurry(), { signal: this.#ended.signal });
  }

  /** Listen until `stop`, and come back after every break. */
  async run() {
    this.onState("connecting");
    while (!this.#stopped) {
      try {
        await this.#listen();
        this.#failures = 0;
      } catch {
        this.#failures += 1;
      }
      if (this.#stopped) return;
      this.onState("lost");
      await this.#pause();
    }
  }

  stop() {
    this.#stopped = true;
    this.#ended.abort();
    this.#controller.abort();
    this.hurry();
  }

  /** Try again at once. */
  hurry() {
    this.#hurry?.();
  }

  async #listen() {
    this.#controller = new AbortController();
    const signal = this.#controller.signal;
    /** @type {Record<string, string>} */
    const resume = this.#lastId === "" ? {} : { "Last-Event-ID": this.#lastId };
    const response = await fetch(address("events"), {
      signal,
      cache: "no-store",
      credentials: "omit",
      headers: { Accept: "text/event-stream", ...credentials(), ...resume },
    });
    if (response.status === 401) {
      this.#stopped = true;
      session.refused();
    }
    if (!response.ok || response.body === null) throw new Error(`events: ${response.status}`);
    this.onState("live");
    this.#failures = 0;
    await this.#read(response.body.pipeThrough(new TextDecoderStream()).getReader());
  }

  /** @param {ReadableStreamDefaultReader<string>} reader */
  async #read(reader) {
    let rest = "";
    for (;;) {
      // A connection that died without a word is known by its silence: the server speaks every 15 seconds.
      const timer = setTimeout(() => this.#controller.abort(), SILENCE_MS);
      const { value, done } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) this.#take(block);
    }
  }

  /** @param {string} block */
  #take(block) {
    let type = "";
    let data = "";
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      const name = line.slice(0, colon);
      const value = line.slice(colon + 1).trimStart();
      if (name === "event") type = value;
      else if (name === "data") data += value;
      else if (name === "id") this.#lastId = value;
      else if (name === "retry") this.#wait = Number(value) || this.#wait;
    }
    if (type !== "") this.onEvent(type, data === "" ? null : JSON.parse(data));
  }

  async #pause() {
    const longest = Math.min(LONGEST_WAIT_MS, this.#wait * 2 ** Math.min(this.#failures, 5));
    const wait = longest * (0.5 + Math.random() / 2);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
    this.#hurry = null;
  }
}
