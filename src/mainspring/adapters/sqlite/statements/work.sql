-- Batches come in and go out as JSON arrays; see engine.py for why.

-- name: known
-- Which of these ids are stored already, live, ended or as a standing job.
SELECT json_group_array(value) FROM json_each(?1)
WHERE EXISTS (SELECT 1 FROM queue WHERE id = unhex(value))
   OR EXISTS (SELECT 1 FROM history WHERE id = unhex(value))
   OR EXISTS (SELECT 1 FROM job WHERE id = unhex(value));

-- name: keys_taken
-- What earlier submissions with these (owner, key) stored.
SELECT json_group_array(json_array(i.owner, i.key, hex(i.id), hex(i.body)))
FROM json_each(?1) j JOIN idempotency i ON i.owner = j.value ->> 0 AND i.key = j.value ->> 1;

-- name: take_keys
INSERT INTO idempotency (owner, key, id, body, accepted_at)
SELECT value ->> 0, value ->> 1, unhex(value ->> 2), unhex(value ->> 3), ?2 FROM json_each(?1);

-- name: standing
-- Which of these job ids are standing jobs.
SELECT json_group_array(value) FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM job WHERE id = unhex(value));

-- name: insert_runs
INSERT INTO queue (id, job_id, origin, owner, project, name, key, spec, kind, due_at, wake_at,
                   handler, lane, priority, timeout, retry, payload, blob, created_at)
SELECT unhex(value ->> 0), unhex(coalesce(value ->> 1, value ->> 0)), unhex(value ->> 2), value ->> 3, value ->> 4, value ->> 5,
       value ->> 6, unhex(value ->> 7), value ->> 8, value ->> 9, value ->> 9,
       value ->> 10, value ->> 11, value ->> 12, value ->> 13, value ->> 14, unhex(value ->> 15), value ->> 16, ?2
FROM json_each(?1);

-- name: insert_jobs
INSERT INTO job (id, owner, project, name, key, state, version, terms, created_at, updated_at, next_fire_at, wake_at,
                 handler, lane, priority, timeout, retry, payload, blob, changed)
SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
       unhex(value ->> 7), value ->> 8, value ->> 9, value ->> 10, value ->> 11,
       value ->> 12, value ->> 13, value ->> 14, value ->> 15, value ->> 16, unhex(value ->> 17), value ->> 18,
       (SELECT coalesce(max(changed), 0) FROM job) + 1 + key
FROM json_each(?1);

-- name: resolve_dead_letters
DELETE FROM dead_letter WHERE run_id IN (SELECT unhex(value) FROM json_each(?1));

-- name: listed_dead
-- Which of these runs are on the list of dead letters.
SELECT json_group_array(value) FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM dead_letter WHERE run_id = unhex(value));

-- name: add_totals
-- A sum that leaves 64 bits becomes a fraction: the least of both is what a column can hold. Counting never fails a verb.
INSERT INTO total (owner, lane, kind, what, amount)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, min(value ->> 4, 9223372036854775807) FROM json_each(?1) WHERE true
ON CONFLICT DO UPDATE SET amount = min(amount + excluded.amount, 9223372036854775807);

-- name: holder
-- The name of a session that is alive.
SELECT name FROM session WHERE id = ?1 AND state = 0;

-- name: due
-- All runs of a lane that are due, unless they are more than ?3; and when the first of the others wakes.
SELECT iif(
    (SELECT 1 FROM queue WHERE lane = ?1 AND state = 0 AND wake_at <= ?2 LIMIT 1 OFFSET ?3) IS NULL,
    (SELECT json_group_array(json_array(-priority, wake_at, seq)) FROM queue WHERE lane = ?1 AND state = 0 AND wake_at <= ?2),
    NULL
), (SELECT min(wake_at) FROM queue WHERE lane = ?1 AND state = 0 AND wake_at > ?2);

-- name: next_wake
SELECT min(wake_at) FROM queue WHERE lane = ?1 AND state = 0;

-- name: levels
-- The priorities that waiting runs of a lane have, from the highest; and when the first of each wakes.
WITH RECURSIVE level (priority) AS (
    SELECT max(priority) FROM queue WHERE lane = ?1 AND state = 0
    UNION ALL
    SELECT (SELECT max(lower.priority) FROM queue lower WHERE lane = ?1 AND state = 0 AND lower.priority < level.priority)
    FROM level WHERE priority IS NOT NULL
)
SELECT json_group_array(json_array(
    priority, (SELECT min(wake_at) FROM queue WHERE lane = ?1 AND state = 0 AND queue.priority = level.priority)
)) FROM level WHERE priority IS NOT NULL;

-- name: candidates
-- The runs of one priority that have waited longest.
SELECT json_group_array(seq) FROM (
    SELECT seq FROM queue WHERE lane = ?1 AND state = 0 AND priority = ?2 AND wake_at <= ?3 ORDER BY wake_at, seq LIMIT ?4
);

-- name: hand_over
UPDATE queue SET state = 1, fence = fence + 1, attempt = attempt + 1, session = ?2, worker = ?5, started_at = ?3,
    deadline_at = ?3 + timeout + ?4
WHERE seq IN (SELECT value FROM json_each(?1));

-- name: handed_over
SELECT json_group_array(json_array({attempt})) FROM (SELECT q.* FROM json_each(?1) j CROSS JOIN queue q ON q.seq = j.value);

-- name: count_waits
-- How late these runs were handed over, all together, and each in the buckets of views.WAIT_BUCKETS: since they could start
-- and were there, at most a week each, so that no batch can add up to more than 64 bits.
WITH start AS MATERIALIZED (
    SELECT owner, lane, kind, count(*) AS amount, sum(late) AS waited, CASE
        WHEN late <= 1000 THEN 0 WHEN late <= 2500 THEN 1 WHEN late <= 5000 THEN 2 WHEN late <= 10000 THEN 3
        WHEN late <= 25000 THEN 4 WHEN late <= 50000 THEN 5 WHEN late <= 100000 THEN 6 WHEN late <= 250000 THEN 7
        WHEN late <= 500000 THEN 8 WHEN late <= 1000000 THEN 9 WHEN late <= 2500000 THEN 10 WHEN late <= 5000000 THEN 11
        WHEN late <= 10000000 THEN 12 WHEN late <= 30000000 THEN 13 WHEN late <= 60000000 THEN 14
        WHEN late <= 300000000 THEN 15 WHEN late <= 3600000000 THEN 16 ELSE 17 END AS bucket
    FROM (SELECT owner, lane, kind, min(max(?2 - max(wake_at, created_at), 0), 604800000000) AS late
          FROM queue WHERE seq IN (SELECT value FROM json_each(?1)))
    GROUP BY owner, lane, kind, bucket
)
INSERT INTO total (owner, lane, kind, what, amount)
SELECT owner, lane, kind, 'wait/' || bucket, amount FROM start WHERE true
UNION ALL
SELECT owner, lane, kind, 'waited', sum(waited) FROM start GROUP BY owner, lane, kind
ON CONFLICT DO UPDATE SET amount = min(total.amount + excluded.amount, 9223372036854775807);

-- name: current
-- Which verdicts (id, fence, session) meet the run that they were made for. A loss needs the session too.
SELECT json_group_array(json_array(j.key, q.seq, q.cancel, q.owner, q.lane, q.kind))
FROM json_each(?1) j CROSS JOIN queue q ON q.id = unhex(j.value ->> 0)
WHERE q.fence = j.value ->> 1 AND (j.value ->> 2 IS NULL OR (q.session = j.value ->> 2 AND q.state = 1));

-- name: settled_before
-- Which of these hand-overs (id, fence) were settled by an earlier verdict.
SELECT json_group_array(j.key) FROM json_each(?1) j
WHERE EXISTS (SELECT 1 FROM history h WHERE h.id = unhex(j.value ->> 0) AND h.fence = j.value ->> 1)
   OR EXISTS (SELECT 1 FROM queue q WHERE q.id = unhex(j.value ->> 0) AND q.settled = j.value ->> 1);

-- name: succeed
-- Plain successes, the most frequent verdict by far: only the rows are named.
INSERT INTO history (id, job_id, origin, owner, project, name, key, spec, kind, handler, lane, priority, timeout, retry, payload, blob,
                     created_at, version, due_at, state, fence, attempt, failures, losses, worker, started_at, finished_at, log)
SELECT id, job_id, origin, owner, project, name, key, spec, kind, handler, lane, priority, timeout, retry, payload, blob,
       created_at, version, due_at, 2, fence, attempt, failures, losses, worker, started_at, ?2, log
FROM queue WHERE seq IN (SELECT value FROM json_each(?1));

-- name: finish
-- Verdicts (seq, state, attempt, failures, losses, result, result_blob, error, reason, log) that end their runs.
INSERT INTO history (id, job_id, origin, owner, project, name, key, spec, kind, handler, lane, priority, timeout, retry, payload, blob,
                     created_at, version, due_at, state, fence, attempt, failures, losses, worker, started_at, finished_at,
                     result, result_blob, error, reason, log)
SELECT q.id, q.job_id, q.origin, q.owner, q.project, q.name, q.key, q.spec, q.kind, q.handler, q.lane, q.priority, q.timeout, q.retry,
       q.payload, q.blob, q.created_at, q.version, q.due_at, v.value ->> 1, q.fence, v.value ->> 2, v.value ->> 3, v.value ->> 4,
       q.worker, q.started_at, ?2, unhex(v.value ->> 5), v.value ->> 6, v.value ->> 7, v.value ->> 8, v.value ->> 9
FROM json_each(?1) v CROSS JOIN queue q ON q.seq = v.value ->> 0;

-- name: leave
DELETE FROM queue WHERE seq IN (SELECT value FROM json_each(?1));

-- name: put_back
-- Verdicts (seq, delay, attempt, failures, losses, error, reason, log, kept, lane) that leave their runs alive; `kept` is 1
-- for a loss, whose fence stays, so that the last holder's late result still counts; suspects wait in a lane of their own.
UPDATE queue SET state = 0, session = NULL, deadline_at = NULL, wake_at = ?2 + min(v.value ->> 1, 315360000000000),
    attempt = v.value ->> 2, failures = v.value ->> 3, losses = v.value ->> 4, error = v.value ->> 5, reason = v.value ->> 6, log = v.value ->> 7,
    settled = iif(v.value ->> 8, settled, fence), fence = iif(v.value ->> 8, fence, fence + 1), lane = v.value ->> 9
FROM json_each(?1) v WHERE queue.seq = v.value ->> 0;

-- name: of_the_dead
-- What a dead letter shows of these rows.
SELECT json_group_array(json_array(seq, hex(id), owner, hex(job_id), handler)) FROM queue WHERE seq IN (SELECT value FROM json_each(?1));

-- name: insert_dead_letters
INSERT INTO dead_letter (run_id, owner, job_id, handler, fingerprint, died_at)
SELECT unhex(value ->> 0), value ->> 1, unhex(value ->> 2), value ->> 3, value ->> 4, ?2 FROM json_each(?1);

-- name: steered
-- What an order has to know about a live run.
SELECT json_array(seq, state, version, iif(state = 0, coalesce(deadline_at, wake_at), wake_at), owner, lane, kind)
FROM queue WHERE id = ?1;

-- name: ended_state
SELECT state FROM history WHERE id = ?1;

-- name: cancel_waiting
-- Ends a run that waits; the fence grows, so that a late result of an earlier holder is stale.
INSERT INTO history (id, job_id, origin, owner, project, name, key, spec, kind, handler, lane, priority, timeout, retry, payload, blob,
                     created_at, version, due_at, state, fence, attempt, failures, losses, worker, started_at, finished_at, error, reason, log)
SELECT id, job_id, origin, owner, project, name, key, spec, kind, handler, lane, priority, timeout, retry, payload, blob,
       created_at, version, due_at, 4, fence + 1, attempt, failures, losses, worker,
       started_at, ?2, error, ?3, log
FROM queue WHERE seq = ?1;

-- name: flag
UPDATE queue SET cancel = coalesce(cancel, ?2) WHERE seq = ?1;

-- name: move_wake
UPDATE queue SET wake_at = ?2 WHERE seq = ?1;

-- name: edit_task
UPDATE queue SET handler = ?2, lane = ?3, priority = ?4, timeout = ?5, retry = ?6, payload = unhex(?7), blob = ?8 WHERE seq = ?1;

-- name: edit_rest
UPDATE queue SET due_at = coalesce(?2, due_at), wake_at = coalesce(?3, deadline_at, wake_at), name = coalesce(?4, name), spec = coalesce(?5, spec)
WHERE seq = ?1;

-- name: next_number
UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'queue' RETURNING seq;

-- name: renew
-- A ticket that is out is worthless from now on.
UPDATE queue SET seq = ?2, fence = fence + 1, version = version + 1, deadline_at = NULL WHERE seq = ?1;

-- name: hide
INSERT OR IGNORE INTO hidden (id) VALUES (?1);

-- name: may_be_hidden
-- Whether this is a one-shot job that has ended or is about to.
SELECT 1 FROM history WHERE id = ?1 AND job_id = id
UNION ALL
SELECT 1 FROM queue WHERE id = ?1 AND job_id = id AND cancel IS NOT NULL;
