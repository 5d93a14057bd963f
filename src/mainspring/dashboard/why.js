/** The gates between a job and a worker, as a list to read from top to bottom. */

import { h } from "./dom.js";
import { icon } from "./icons.js";

const PICTURES = { pass: "check", wait: "wait", block: "cross", unknown: "question" };
const WORDS = { pass: "open", wait: "waits", block: "closed", unknown: "unknown" };

/** @param {ReturnType<typeof import("./gates.js").explain>} answer */
export function why({ verdict, gates }) {
  return h(
    "div",
    { class: "why" },
    h("p", { class: "verdict" }, verdict),
    gates.length === 0
      ? null
      : h(
          "ol",
          { class: "gates" },
          gates.map(({ name, state, text, advice }) =>
            h(
              "li",
              { class: state, key: name },
              icon(PICTURES[state]),
              h("span", { class: "unseen" }, `${WORDS[state]}: `),
              h(
                "div",
                null,
                h("strong", null, name),
                h("span", null, text),
                advice && state !== "pass" ? h("p", { class: "faint" }, advice) : null,
              ),
            ),
          ),
        ),
  );
}
