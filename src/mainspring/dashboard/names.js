/**
 * Names for executions: the API names only their jobs' ids in lists, so jobs are asked for, once each,
 * unless an event has named them.
 *
 * @import { Execution } from "./types.js"
 */

import { get } from "./api.js";
import { onChanges } from "./live.js";

const MOST = 2000;

/** @typedef {{name: string, handler: string}} Named */

/** By job id. @type {Map<string, Named>} */
export const knownNames = new Map();

/**
 * Learn the names of these executions' jobs; one that is gone is named so.
 * @param {Execution[]} executions
 */
export async function nameExecutions(executions) {
  const unknown = [...new Set(executions.map(({ job_id }) => job_id))].filter((id) => !knownNames.has(id));
  await Promise.all(
    unknown.map(async (id) => {
      try {
        const job = await get(`jobs/${id}`);
        learn(id, { name: job.name || job.handler, handler: job.handler });
      } catch {
        learn(id, { name: "deleted job", handler: "" });
      }
    }),
  );
}

/**
 * @param {string} id
 * @param {Named} named
 */
export function learn(id, named) {
  knownNames.set(id, named);
  if (knownNames.size > MOST) knownNames.delete(knownNames.keys().next().value ?? "");
}

// What is told is known without asking, and anew after a change of name.
onChanges(({ runs, jobs }) => {
  for (const { job_id, name, handler } of runs.values()) if (name) learn(job_id, { name, handler });
  for (const { id, name, handler } of jobs.values()) learn(id, { name: name || handler, handler });
});
