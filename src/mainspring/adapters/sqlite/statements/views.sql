-- Pages are cut by id, newest first; each looks at a bounded number of rows from there on.

-- name: run
-- A run that moves from queue to history is seen once: both reads are of one moment.
SELECT json_array({live_run}) FROM queue WHERE id = ?1 AND id NOT IN (SELECT id FROM hidden)
UNION ALL
SELECT json_array({ended_run}) FROM history WHERE id = ?1 AND id NOT IN (SELECT id FROM hidden);

-- name: live_runs
SELECT json_group_array(json_array({live_run})) FROM (SELECT * FROM queue WHERE id < ?1 AND id NOT IN (SELECT id FROM hidden) ORDER BY id DESC LIMIT ?2);

-- name: ended_runs
SELECT json_group_array(json_array({ended_run}))
FROM (SELECT * FROM history WHERE id < ?1 AND id NOT IN (SELECT id FROM hidden) ORDER BY id DESC LIMIT ?2);

-- name: live_runs_of_job
SELECT json_group_array(json_array({live_run}))
FROM (SELECT * FROM queue WHERE job_id = ?3 AND job_id <> id AND id < ?1 ORDER BY id DESC LIMIT ?2);

-- name: ended_runs_of_job
SELECT json_group_array(json_array({ended_run}))
FROM (SELECT * FROM history WHERE job_id = ?3 AND job_id <> id AND id < ?1 ORDER BY id DESC LIMIT ?2);

-- name: job
SELECT json_array({job}) FROM job WHERE id = ?1 AND state <> 2;

-- name: jobs
SELECT json_group_array(json_array({job})) FROM (SELECT * FROM job WHERE id < ?1 AND state <> 2 ORDER BY id DESC LIMIT ?2);

-- name: keyed
-- The job or run that a key stands for.
SELECT hex(id) FROM idempotency WHERE owner = ?1 AND key = ?2;

-- name: dead_letters
SELECT json_group_array(json_array(d.fingerprint, d.died_at, hex(d.run_id)))
FROM (SELECT * FROM dead_letter WHERE run_id < ?1 AND (?3 IS NULL OR owner = ?3) AND (?4 IS NULL OR job_id = ?4)
        AND (?5 IS NULL OR handler = ?5) AND (?6 IS NULL OR fingerprint = ?6)
      ORDER BY run_id DESC LIMIT ?2) d;

-- name: totals
SELECT json_group_array(json_array(owner, lane, kind, what, amount)) FROM total;

-- name: running
-- How many runs of each group are in workers' hands.
SELECT json_group_array(json_array(owner, lane, kind, amount)) FROM (
    SELECT owner, lane, kind, count(*) AS amount FROM queue INDEXED BY queue_session
    WHERE state = 1 AND session IS NOT NULL GROUP BY owner, lane, kind
);

-- name: first_lane
-- The first lane after another that waiting runs have.
SELECT min(lane) FROM queue WHERE state = 0 AND lane > ?1;

-- name: due
-- How many runs of one lane have woken, of all owners or of one; those with a ticket out among them, which claims pass
-- over, but not beyond ?4.
SELECT count(*) FROM queue
WHERE lane = ?1 AND state = 0 AND wake_at <= ?4 AND (wake_at <= ?2 OR deadline_at IS NOT NULL)
  AND (?3 IS NULL OR owner = ?3);

-- name: dead_count
SELECT count(*) FROM dead_letter;
