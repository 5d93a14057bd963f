/**
 * What has failed for good, grouped by what it died of, until somebody decides: run it again, or let it go.
 *
 * @import { DeadLetter, Route, Screen } from "../types.js"
 */

import { collect, post } from "../api.js";
import { Progress, forAll } from "../bulk.js";
import { sparkline } from "../charts.js";
import * as clock from "../clock.js";
import { open } from "../dialog.js";
import { h, refresh } from "../dom.js";
import { ago, number, plural } from "../format.js";
import * as live from "../live.js";
import { knownNames, nameExecutions } from "../names.js";
import { button, empty, failure, heading, jobLink, loading, paced } from "../parts.js";
import { complain, tell } from "../toast.js";
import { executionLink } from "../actions.js";

const LOOKED_AT = 1000;
const SHOWN = 20;
const HOURS = 24;
const HOUR_MS = 3_600_000;

/** @typedef {{fingerprint: string, handler: string, error: string, letters: DeadLetter[]}} Group */

/** @param {Route} first @returns {Screen} */
export function deadLettersPage(first) {
  const element = h("div", { class: "page dead-letters" });
  let { query } = first;
  /** @type {DeadLetter[] | null} */
  let letters = null;
  let more = false;
  /** @type {unknown} */
  let problem = null;

  const load = paced(async () => {
    try {
      const found = await collect("dead-letter", query.handler ? { handler: query.handler } : {}, LOOKED_AT);
      letters = /** @type {DeadLetter[]} */ (found.items);
      more = found.next !== null;
      problem = null;
      await nameExecutions(groupsOf(letters).flatMap((group) => group.letters.slice(0, SHOWN)));
    } catch (error) {
      problem = error;
    }
    draw();
  }, 1500);
  const stops = [
    live.onChanges(
      (changes) =>
        (changes.everything || [...changes.runs.values()].some(({ status }) => status === "FAILED")) && load.call(),
    ),
    live.onFigures(() => {
      const known = live.state.metrics?.dead_letters ?? null;
      if (letters !== null && known !== null && known !== letters.length && !more && !query.handler) load.call();
    }),
  ];

  function draw() {
    const groups = groupsOf(letters ?? []);
    refresh(
      element,
      heading("Dead letters"),
      problem ? failure(problem, load.hurry) : letters === null ? loading() : null,
      letters?.length === 0
        ? empty(
            "Nothing is dead.",
            "What keeps failing until its retries are used up comes here, and waits for a decision.",
          )
        : null,
      letters?.length
        ? h(
            "p",
            { class: "lead" },
            `${plural(letters.length, "execution")}${more ? " or more" : ""} died of ${plural(groups.length, "cause")}.`,
          )
        : null,
      groups.map((group) => groupCard(group, load.hurry)),
    );
  }

  draw();
  load.call();
  return {
    title: "Dead letters",
    element,
    update(route) {
      query = route.query;
      load.hurry();
    },
    dispose() {
      for (const stop of stops) stop();
      load.end();
    },
  };
}

/** @param {DeadLetter[]} letters @returns {Group[]} the largest first */
function groupsOf(letters) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const letter of letters) {
    const group = groups.get(letter.fingerprint);
    if (group) group.letters.push(letter);
    else
      groups.set(letter.fingerprint, {
        fingerprint: letter.fingerprint,
        handler: letter.handler,
        error: letter.error ?? letter.reason ?? "",
        letters: [letter],
      });
  }
  return [...groups.values()].sort((a, b) => b.letters.length - a.letters.length);
}

/**
 * @param {Group} group
 * @param {() => void} reload
 */
function groupCard(group, reload) {
  const { letters, error, fingerprint, handler } = group;
  const title = error.trim().split("\n").at(-1)?.slice(0, 200) || "no error text";
  const newest = letters
    .map(({ died_at }) => died_at)
    .sort()
    .at(-1);
  return h(
    "section",
    { class: "card group", key: fingerprint, "aria-label": title },
    h(
      "header",
      null,
      h(
        "div",
        { class: "group-title" },
        h("h2", null, title),
        h(
          "p",
          { class: "sub" },
          h("code", null, handler),
          ` · ${letters[0]?.reason ?? "failed"} · last `,
          ago(newest),
          h("span", { class: "faint" }, ` · ${fingerprint.slice(0, 12)}`),
        ),
      ),
      h(
        "div",
        { class: "group-count" },
        h("strong", null, number(letters.length)),
        h("div", { class: "trend" }, byHour(letters), h("span", { class: "faint" }, "last 24 hours")),
      ),
      h(
        "div",
        { class: "actions" },
        button(letters.length === 1 ? "Run again" : "Run all again", {
          icon: "retry",
          on: { click: () => requeueDialog(group, reload) },
        }),
        button("Discard", {
          icon: "trash",
          kind: "danger-quiet",
          on: { click: () => void discard(letters, title, reload) },
        }),
      ),
    ),
    h(
      "details",
      null,
      h("summary", null, `Show ${plural(Math.min(SHOWN, letters.length), "execution")}`),
      h(
        "ul",
        { class: "rows" },
        letters.slice(0, SHOWN).map((letter) => row(letter, reload)),
      ),
    ),
  );
}

/** How many died in each of the last hours. @param {DeadLetter[]} letters */
function byHour(letters) {
  const counts = Array.from({ length: HOURS }, () => 0);
  for (const { died_at } of letters) {
    const hour = HOURS - 1 - Math.floor((clock.now() - Date.parse(died_at)) / HOUR_MS);
    if (hour >= 0) counts[Math.min(hour, HOURS - 1)] += 1;
  }
  return sparkline(counts, `Deaths by hour over the last day: ${counts.join(", ")}`);
}

/**
 * @param {DeadLetter} letter
 * @param {() => void} reload
 */
function row(letter, reload) {
  const name = knownNames.get(letter.job_id)?.name ?? "job";
  const again = async () => {
    try {
      await post(`dead-letter/${letter.id}/requeue`);
      tell(`${name} runs again.`);
      reload();
    } catch (error) {
      complain(error);
    }
  };
  return h(
    "li",
    { key: letter.id },
    jobLink(letter.job_id, name),
    executionLink(letter.id),
    h("span", { class: "faint" }, plural(letter.attempt, "attempt")),
    ago(letter.died_at),
    button(`Run ${name} again`, { icon: "retry", kind: "quiet", bare: true, on: { click: () => void again() } }),
    button(`Discard ${name}`, {
      icon: "trash",
      kind: "quiet",
      bare: true,
      on: { click: () => void discard([letter], name, reload) },
    }),
  );
}

/**
 * How many, and how fast: a herd that comes back all at once may die of the same thing again.
 * @param {Group} group
 * @param {() => void} reload
 */
function requeueDialog(group, reload) {
  const count = h("input", { type: "number", name: "count", min: 1, value: group.letters.length });
  const rate = h(
    "select",
    { name: "rate" },
    [
      ["0", "all at once"],
      ["1", "1 a second"],
      ["10", "10 a second"],
      ["100", "100 a second"],
    ].map(([value, text]) => h("option", { value }, text)),
  );
  const begin = () => {
    dialog.close();
    void requeue(group, Math.max(1, Number(count.value)), Number(rate.value)).then(reload);
  };
  const dialog = open({
    title: "Run again?",
    content: [
      h("p", null, "Each becomes a new execution of its job; the dead one stays in history."),
      h(
        "div",
        { class: "grid" },
        h("label", { class: "field" }, "How many", count),
        h("label", { class: "field" }, "How fast", rate),
      ),
    ],
    buttons: [
      h("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Keep as it is"),
      h("button", { type: "button", class: "button primary", on: { click: begin } }, "Run again"),
    ],
  });
  count.focus();
}

/**
 * @param {Group} group
 * @param {number} count
 * @param {number} rate a second; 0 for as fast as it goes
 */
async function requeue(group, count, rate) {
  const progress = new Progress("Running again", count);
  let left = count;
  while (left > 0 && !progress.stopped) {
    const began = performance.now();
    try {
      const limit = Math.min(left, rate || 500);
      const { requeued, more } = await post("dead-letter/requeue", {
        fingerprint: group.fingerprint,
        handler: group.handler,
        limit,
      });
      progress.step(undefined, requeued);
      left = more && requeued > 0 ? left - requeued : 0;
    } catch (error) {
      progress.step(error instanceof Error ? error.message : String(error));
      break;
    }
    if (rate > 0 && left > 0)
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1000 - (performance.now() - began))));
  }
  progress.end();
}

/**
 * @param {DeadLetter[]} letters
 * @param {string} title
 * @param {() => void} reload
 */
async function discard(letters, title, reload) {
  const reason = h("input", { name: "reason", maxlength: 200, placeholder: "fixed upstream", autocomplete: "off" });
  const done = await forAll({
    title: `Discard ${plural(letters.length, "dead letter")}?`,
    question: [
      h(
        "p",
        null,
        `“${title.slice(0, 120)}” is taken off this list; history keeps it, and the audit keeps the reason.`,
      ),
      h("label", { class: "field" }, "Reason", reason),
    ],
    yes: "Discard",
    danger: true,
    total: letters.length,
    items: async function* () {
      yield* letters;
    },
    act: (letter) =>
      post(`dead-letter/${letter.id}/discard`, reason.value.trim() ? { reason: reason.value.trim() } : undefined),
    name: ({ id }) => id,
  });
  if (done > 0) reload();
}
