/**
 * "Why isn't it running?": every gate between a job and a worker's slot, in the order in which it must pass them.
 *
 * @import { Execution, Handler, Job, Metrics, Worker } from "./types.js"
 */

import { plural, roughly } from "./format.js";

/**
 * @typedef {object} Gate
 * @property {string} name
 * @property {"pass" | "wait" | "block" | "unknown"} state
 * @property {string} text
 * @property {string} [advice]
 *
 * @typedef {object} Situation
 * @property {Job} job
 * @property {Execution | null} execution the one that waits or runs, or else the latest
 * @property {Worker[] | null} workers
 * @property {Handler[] | null} handlers
 * @property {Metrics | null} metrics
 * @property {number} now by the server's clock
 */

const RECURRING = /^(@|\S+\s+\S+\s+\S+\s+\S+\s+\S+)/;

/** @param {Job} job */
export const isRecurring = (job) => RECURRING.test(job.schedule) && !job.schedule.startsWith("in ");

/**
 * All gates, and what they come to.
 * @param {Situation} situation
 * @returns {{verdict: string, gates: Gate[]}}
 */
export function explain(situation) {
  const { job, execution, now } = situation;
  if (execution?.status === "RUNNING") {
    const since = execution.started_at ? `for ${roughly(now - Date.parse(execution.started_at))}` : "now";
    return { verdict: `It is running, ${since}.`, gates: [] };
  }
  const pending = execution?.status === "PENDING" ? execution : null;
  const gates = [
    pauseGate(job),
    ...(pending ? [dueGate(pending, now)] : [scheduleGate(job, now), schedulerGate(situation)]),
    overlapGate(job),
    suspectGate(pending),
    handlerGate(situation),
    laneGate(situation),
    slotGate(situation),
  ].filter((gate) => gate !== null);
  const first = gates.find(({ state }) => state === "block") ?? gates.find(({ state }) => state === "wait");
  const ready = pending
    ? "Nothing holds it: a worker takes it any moment."
    : "Nothing holds it: it runs at its next moment.";
  return { verdict: first?.text ?? ready, gates };
}

/**
 * @param {Job} job
 * @returns {Gate}
 */
function pauseGate(job) {
  return job.status === "PAUSED"
    ? { name: "Pause", state: "block", text: "The job is paused: nothing fires.", advice: "Resume it." }
    : { name: "Pause", state: "pass", text: "The job isn't paused." };
}

/**
 * @param {Execution} execution
 * @param {number} now
 * @returns {Gate}
 */
function dueGate(execution, now) {
  const wait = Date.parse(execution.scheduled_at) - now;
  if (execution.reason && wait > 0) {
    const text = `A worker handed it back: ${execution.reason}.`;
    const advice = `It is offered again in ${roughly(wait)}, until a worker takes it; no attempt is charged.`;
    return { name: "Handed back", state: "wait", text, advice };
  }
  if (execution.attempt > 0 && wait > 0) {
    const text = `Attempt ${execution.attempt} failed; the next begins in ${roughly(wait)}.`;
    return { name: "Backoff", state: "wait", text, advice: "It waits longer after each failure." };
  }
  if (wait > 0) return { name: "Due time", state: "wait", text: `It is due in ${roughly(wait)}.` };
  return { name: "Due time", state: "pass", text: `It has been due for ${roughly(-wait)}.` };
}

/**
 * @param {Job} job
 * @param {number} now
 * @returns {Gate}
 */
function scheduleGate(job, now) {
  const name = "Schedule";
  if (job.schedule === "on-demand") {
    return {
      name,
      state: "wait",
      text: "It runs only when it is triggered.",
      advice: "Trigger it, or give it a schedule.",
    };
  }
  if (job.next_run_time !== null) {
    const wait = Date.parse(job.next_run_time) - now;
    if (wait > 0) return { name, state: "wait", text: `Its next moment is in ${roughly(wait)}.` };
    return { name, state: "pass", text: `A moment is due since ${roughly(-wait)}.` };
  }
  if (job.status === "PAUSED") return { name, state: "unknown", text: "Its next moment is known once it is resumed." };
  const ended = { COMPLETED: "has run and completed", FAILED: "has failed for good", CANCELLED: "was cancelled" };
  const word = ended[/** @type {keyof typeof ended} */ (job.status)];
  if (word)
    return {
      name,
      state: "block",
      text: `It ${word}, and has no more moments.`,
      advice: "Trigger it to run it again.",
    };
  return { name, state: "block", text: "Its schedule has no more moments.", advice: "Change the schedule." };
}

/**
 * @param {Situation} situation
 * @returns {Gate | null}
 */
function schedulerGate({ metrics, job }) {
  if (metrics === null || !isRecurring(job)) return null;
  return metrics.schedulers > 0
    ? { name: "Scheduler", state: "pass", text: `${plural(metrics.schedulers, "scheduler")} alive.` }
    : {
        name: "Scheduler",
        state: "block",
        text: "No scheduler is alive: nothing fires.",
        advice: "Start one: mainspring scheduler",
      };
}

/**
 * @param {Job} job
 * @returns {Gate | null}
 */
function overlapGate(job) {
  if (!isRecurring(job) || job.overlap === "allow") return null;
  const meaning = { skip: "is left out", wait: "waits for it", replace: "takes its place" };
  const what = meaning[/** @type {keyof typeof meaning} */ (job.overlap)] ?? job.overlap;
  return { name: "Overlap", state: "pass", text: `If the run before hasn't ended, the next ${what}.` };
}

/**
 * @param {Execution | null} execution
 * @returns {Gate | null}
 */
function suspectGate(execution) {
  if (!execution?.reason?.startsWith("suspect: ")) return null;
  return {
    name: "Suspect",
    state: "wait",
    text: `It is a ${execution.reason}.`,
    advice: "One worker in four is emptied for suspects, one after the other. If nobody needs it any more, cancel it.",
  };
}

/**
 * @param {Situation} situation
 * @returns {Gate}
 */
function handlerGate({ job, handlers, workers }) {
  const name = "Handler";
  if (handlers === null) return { name, state: "unknown", text: "Which handlers there are isn't known." };
  const found = handlers.find((handler) => handler.name === job.handler);
  if (found?.registered) return { name, state: "pass", text: `A worker has had the handler ${job.handler}.` };
  if (found?.builtin) {
    if (!workers?.length) return { name, state: "pass", text: `The handler ${job.handler} is built in.` };
    return {
      name,
      state: "block",
      text: `No worker may run the built-in handler ${job.handler}.`,
      advice: "A worker's settings switch it on: MAINSPRING_ALLOW_SHELL=1 for the shell's handlers.",
    };
  }
  const advice = "Start a worker that imports it: mainspring worker --app module:app";
  return { name, state: "block", text: `No worker has ever had the handler ${job.handler}.`, advice };
}

/**
 * @param {Situation} situation
 * @returns {Gate}
 */
function laneGate({ job, workers }) {
  const name = "Lane";
  if (workers === null) return { name, state: "unknown", text: "Which workers are alive isn't known." };
  const serving = workers.filter(({ lanes }) => lanes.includes(job.lane));
  const taking = serving.filter(({ status }) => status === "active");
  if (taking.length > 0) {
    return { name, state: "pass", text: `${plural(taking.length, "worker")} alive on the lane ${job.lane}.` };
  }
  if (serving.length > 0) {
    const who = serving.length === 1 ? "The only live worker" : `Each of ${serving.length} live workers`;
    return {
      name,
      state: "block",
      text: `${who} on the lane ${job.lane} is draining: it takes nothing.`,
      advice: "Resume one, among the workers, or start another: mainspring worker",
    };
  }
  if (workers.length === 0) {
    return { name, state: "block", text: "No worker is alive.", advice: "Start one: mainspring worker" };
  }
  return {
    name,
    state: "block",
    text: `None of ${plural(workers.length, "live worker")} serves the lane ${job.lane}.`,
    advice: "Start a worker with handlers of that lane, or edit the job's lane.",
  };
}

/**
 * @param {Situation} situation
 * @returns {Gate}
 */
function slotGate({ job, workers }) {
  const serving = (workers ?? []).filter(({ lanes, status }) => lanes.includes(job.lane) && status === "active");
  const slots = serving.reduce((total, { capacity }) => total + capacity, 0);
  const busy = serving.reduce((total, { executing }) => total + executing, 0);
  const name = "Slots";
  if (slots === 0) return { name, state: "unknown", text: "There are no slots without a worker that takes work." };
  if (busy < slots) return { name, state: "pass", text: `${slots - busy} of ${plural(slots, "slot")} free.` };
  const advice = `Add workers or slots; its priority is ${job.priority}, and higher ones go first.`;
  return { name, state: "wait", text: slots === 1 ? "The only slot is busy." : `All ${slots} slots are busy.`, advice };
}
