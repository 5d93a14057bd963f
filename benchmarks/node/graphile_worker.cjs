// graphile-worker on PostgreSQL: a performer as `benchmarks/contender.py` describes it, with the commands, answers and
// hit records of `benchmarks/child.py` and `benchmarks/hits.py`. Called as: MODULES (worker|client) --url URL …

"use strict";

const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { createRequire } = require("node:module");

const [modules, , ...options] = process.argv.slice(2);
const load = createRequire(path.join(modules, "performer.cjs"));
const { Logger, makeWorkerUtils, run, runMigrations } = load("graphile-worker");
const { Pool } = load("pg");

const CONCURRENT_JOBS = 24;
const LOCAL_QUEUE = 500;
const POLL_MILLISECONDS = 100;
const ADD_BATCH = 10_000;
const ADD_POOL = 10;
const PRIORITIES = 9;

const connectionString = options[options.indexOf("--url") + 1];
const quiet = new Logger(() => (level, message) => {
  if (level === "error") process.stderr.write(`${message}\n`);
});

// Date has whole milliseconds, and a scheduled job must not look early by rounding: this clock has parts of them.
const nanoseconds = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));

const log = fs.openSync(process.env.BENCHMARK_HITS, "a", 0o600);

function hit({ number }) {
  const record = Buffer.alloc(16);
  record.writeBigInt64LE(BigInt(number), 0);
  record.writeBigInt64LE(nanoseconds(), 8);
  fs.writeSync(log, record);
}

class GraphileWorker {
  async open() {
    await runMigrations({ connectionString, logger: quiet });
    this.pool = new Pool({ connectionString, max: ADD_POOL });
    this.utils = await makeWorkerUtils({ pgPool: this.pool, logger: quiet });
  }

  async work() {
    this.runner = await run({
      logger: quiet,
      noHandleSignals: true,
      taskList: { hit },
      preset: {
        worker: {
          connectionString,
          concurrentJobs: CONCURRENT_JOBS,
          maxPoolSize: CONCURRENT_JOBS + 1,
          pollInterval: POLL_MILLISECONDS,
          localQueue: { size: LOCAL_QUEUE },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    });
  }

  async add(job) {
    const { identifier, payload, ...spec } = specification(job);
    await this.utils.addJob(identifier, payload, spec);
  }

  async addEach(jobs, callers) {
    const left = jobs.values();
    const caller = async () => {
      for (const job of left) await this.add(job);
    };
    await Promise.all(Array.from({ length: callers }, caller));
  }

  async addAll(jobs) {
    for (let start = 0; start < jobs.length; start += ADD_BATCH) {
      await this.utils.addJobs(jobs.slice(start, start + ADD_BATCH).map(specification));
    }
  }

  async close() {
    await this.runner?.stop();
    await this.utils.release();
    await this.pool.end();
  }
}

// Its smaller priorities come first. Dates are rounded up, never down.
function specification({ number, dueNs, priority }) {
  const runAt = dueNs === null ? undefined : new Date(Math.ceil(dueNs / 1e6));
  return { identifier: "hit", payload: { number }, priority: PRIORITIES - priority, runAt };
}

function makeJobs({ first, count = 1, due_ns = null, spacing_ns = 0, priorities = 1 }) {
  return Array.from({ length: count }, (_, index) => ({
    number: first + index,
    dueNs: due_ns === null ? null : due_ns + index * spacing_ns,
    priority: index % priorities,
  }));
}

async function timed(call) {
  const called = nanoseconds();
  await call();
  const returned = nanoseconds();
  // By hand: numbers of JavaScript are too short for nanoseconds since 1970.
  fs.writeSync(1, `{"called_ns": ${called}, "returned_ns": ${returned}}\n`);
}

async function main() {
  const performer = new GraphileWorker();
  await timed(() => performer.open());
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: verb, callers, ...jobs } = JSON.parse(line);
    if (verb === "quit") break;
    if (verb === "work") await timed(() => performer.work());
    else if (verb === "add") await timed(() => performer.add(makeJobs(jobs)[0]));
    else if (verb === "add_each") {
      const made = makeJobs(jobs);
      await timed(() => performer.addEach(made, callers));
    } else if (verb === "add_all") {
      const made = makeJobs(jobs);
      await timed(() => performer.addAll(made));
    } else throw new Error(`unknown command: ${verb}`);
  }
  await performer.close();
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
