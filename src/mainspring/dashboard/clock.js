/**
 * The server's clock. The browser's own may be wrong, and be put right in the middle: it is only used to measure how
 * long ago the server said what time it is.
 */

const UNSURE_MS = 2000;

/** @type {{server: number, local: number, precise: boolean} | null} */
let sample = null;

/** What time it is for the server, in milliseconds since 1970. */
export function now() {
  return sample === null ? Date.now() : sample.server + (performance.now() - sample.local);
}

/** Whether the server has said what time it is. */
export const known = () => sample !== null;

/**
 * The server said that it was *instant* some time between two moments of `performance.now()`.
 * @param {string} instant
 * @param {number} sent
 * @param {number} received
 */
export function observe(instant, sent, received) {
  const server = Date.parse(instant);
  if (!Number.isNaN(server)) sample = { server, local: (sent + received) / 2, precise: true };
}

/**
 * The header of an answer, good to a second: it counts until something better is known, or if that has become wrong.
 * @param {string | null} header
 */
export function observeDate(header) {
  const server = header === null ? NaN : Date.parse(header) + 500;
  if (Number.isNaN(server)) return;
  if (sample === null || Math.abs(server - now()) > UNSURE_MS) {
    sample = { server, local: performance.now(), precise: false };
  }
}

/** By how much the browser's clock is ahead, in milliseconds. */
export const browserAhead = () => (sample === null ? 0 : Date.now() - now());
