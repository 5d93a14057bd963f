/** What the charts of the overview can look back on. Steps begin at whole multiples of their length. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/**
 * @typedef {object} Range
 * @property {string} name
 * @property {string} window as the API calls it
 * @property {number} steps
 * @property {number} step how long each is, in milliseconds
 * @property {number} every how often it is asked for, in milliseconds
 */

/** @type {Range[]} */
export const RANGES = [
  { name: "15 minutes", window: "15m", steps: 60, step: 15 * SECOND, every: 5 * SECOND },
  { name: "1 hour", window: "1h", steps: 60, step: MINUTE, every: 10 * SECOND },
  { name: "24 hours", window: "24h", steps: 96, step: 15 * MINUTE, every: MINUTE },
];
