/**
 * Exact totals as they were seen since the dashboard was opened: as many as the charts can show, and never more.
 * A dashboard stays open for weeks.
 */

import { RANGES } from "./ranges.js";

/** @typedef {{at: number, completed: number, failed: number, other: number}} Sample */

export class Totals {
  /** By the length of a step. @type {Map<number, Sample[]>} */
  #kept = new Map(RANGES.map(({ step }) => [step, []]));

  /** @param {Sample} sample not older than any before */
  add(sample) {
    for (const { step, steps } of RANGES) {
      const kept = this.of(step);
      /** @param {Sample | undefined} other */
      const together = (other) => other && Math.floor(other.at / step) === Math.floor(sample.at / step);
      // The first and the last of each step tell how much it brought.
      if (together(kept.at(-1)) && together(kept.at(-2))) kept.pop();
      kept.push(sample);
      if (kept.length > 2 * (steps + 1)) kept.shift();
    }
  }

  /** Oldest first. @param {number} step */
  of(step) {
    return this.#kept.get(step) ?? [];
  }
}
