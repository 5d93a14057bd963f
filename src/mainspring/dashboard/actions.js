/**
 * What can be done to jobs, executions and workers: asked where it can't be undone, told when it is done, undone where possible.
 *
 * @import { Execution, Job, Worker } from "./types.js"
 */

import { ask, getVerbatim, nonce, post } from "./api.js";
import { confirm } from "./dialog.js";
import { h } from "./dom.js";
import { href, navigate } from "./router.js";
import { complain, tell } from "./toast.js";

/** @param {{name: string, handler: string}} job */
export const nameOf = (job) => job.name || job.handler;

/**
 * Do it, and say so or what went wrong; whether it worked.
 * @param {() => Promise<unknown>} action
 * @param {string} [done]
 * @param {{undo?: () => void, undoLabel?: string}} [options]
 */
async function attempt(action, done, options) {
  try {
    await action();
    if (done) tell(done, options);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

/** @param {Job} job @returns {Promise<boolean>} */
export const pause = (job) =>
  attempt(() => post(`jobs/${job.id}/pause`), `Paused ${nameOf(job)}.`, { undo: () => void resume(job) });

/** @param {Job} job @returns {Promise<boolean>} */
export const resume = (job) =>
  attempt(() => post(`jobs/${job.id}/resume`), `Resumed ${nameOf(job)}.`, { undo: () => void pause(job) });

/** @param {Job} job */
export async function trigger(job) {
  const headers = { "Idempotency-Key": nonce() };
  /** @type {Execution | null} */
  let execution = null;
  const show = () => execution && navigate(["executions", execution.id]);
  const run = async () => {
    execution = await ask("POST", `jobs/${job.id}/trigger`, { headers });
  };
  return attempt(run, `Triggered ${nameOf(job)}.`, { undo: show, undoLabel: "Show" });
}

/** @param {Job} job */
export async function cancel(job) {
  const content = "What waits never starts; what runs is stopped within some seconds and isn't tried again.";
  if (!(await confirm({ title: `Cancel the runs of ${nameOf(job)}?`, content, yes: "Cancel runs", danger: true })))
    return false;
  return attempt(() => post(`jobs/${job.id}/cancel`), `Cancelled what ran of ${nameOf(job)}.`);
}

/** @param {Job} job */
export async function remove(job) {
  const content = "What runs is cancelled, and the job is gone from all lists. Its history stays until it is pruned.";
  if (!(await confirm({ title: `Delete ${nameOf(job)}?`, content, yes: "Delete", danger: true }))) return false;
  // A list leaves long payloads out: what is to be brought back must be whole.
  const text = await whole(job).catch(() => null);
  const undo = text === null ? undefined : () => void restore(text, nameOf(job));
  return attempt(() => ask("DELETE", `jobs/${job.id}`), `Deleted ${nameOf(job)}.`, { undo, undoLabel: "Bring back" });
}

/**
 * @param {string} text
 * @param {string} name
 */
const restore = (text, name) => attempt(() => ask("POST", "jobs", { text }), `Brought ${name} back, under a new id.`);

/** The fields of a job that can be sent again. */
const GIVEN = /** @type {const} */ ([
  "name",
  "description",
  "handler",
  "schedule",
  "timezone",
  "priority",
  "max_retries",
  "retry",
  "timeout_ms",
  "lane",
  "misfire",
  "overlap",
  "dst",
  "allow_unknown_handler",
  "owner",
  "project_id",
]);

/**
 * The request that makes such a job again, with its payload byte for byte.
 * @param {Job} job
 */
async function whole(job) {
  const { value, raw } = await getVerbatim(`jobs/${job.id}`);
  const members = GIVEN.map((name) => `${JSON.stringify(name)}:${raw.get(name)}`);
  if (value.starts_at) members.push(`"starts_at":${raw.get("starts_at")}`);
  return `{${members.join(",")},"payload":${raw.get("payload") ?? "null"}}`;
}

/** @param {Execution} execution */
export async function cancelExecution(execution) {
  const content = "If it waits it never starts; if it runs it is stopped within some seconds. It isn't tried again.";
  if (!(await confirm({ title: "Cancel this execution?", content, yes: "Cancel it", danger: true }))) return false;
  return attempt(() => post(`executions/${execution.id}/cancel`), "Cancelled.");
}

/** @param {Execution} execution */
export async function retryExecution(execution) {
  /** @type {Execution | null} */
  let again = null;
  const run = async () => {
    const headers = { "Idempotency-Key": nonce() };
    again = await ask("POST", `executions/${execution.id}/retry`, { headers });
  };
  return attempt(run, "It runs again, as a new execution.", {
    undo: () => again && navigate(["executions", again.id]),
    undoLabel: "Show",
  });
}

/** @param {Worker} worker @returns {Promise<boolean>} */
export const drainWorker = (worker) =>
  attempt(() => post(`workers/${encodeURIComponent(worker.id)}/drain`), `${worker.id} takes no more work.`, {
    undo: () => void resumeWorker(worker),
    undoLabel: "Resume",
  });

/** @param {Worker} worker @returns {Promise<boolean>} */
export const resumeWorker = (worker) =>
  attempt(() => post(`workers/${encodeURIComponent(worker.id)}/resume`), `${worker.id} takes work again.`);

/** @param {string} id */
export const executionLink = (id) =>
  h("a", { href: href(["executions", id]), class: "id" }, `${id.slice(0, 8)}…${id.slice(-4)}`);
