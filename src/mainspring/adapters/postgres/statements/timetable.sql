-- name: due
-- Active jobs whose wake time has come, with the state of their active run; the store's now and the wait until the next job
-- are in every row, and in a row without a job if none is due. A run ends at the time in its id or later, but for a clock
-- that is a day off: so most of history isn't looked at.
WITH due AS MATERIALIZED (
    SELECT * FROM job WHERE state = 0 AND wake_at IS NOT NULL AND wake_at <= now() ORDER BY wake_at LIMIT $1
), following AS MATERIALIZED (
    SELECT min(wake_at) AS moment FROM job WHERE state = 0 AND wake_at IS NOT NULL AND wake_at > now()
)
SELECT now(), following.moment - clock_timestamp(), coalesce(
    (SELECT q.state FROM queue q WHERE q.id = due.active_run),
    (SELECT h.state FROM history h WHERE h.id = due.active_run AND h.finished_at < now() + interval '1 day'
        AND h.finished_at >= to_timestamp(('x' || left(replace(due.active_run::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
                             - interval '1 day' LIMIT 1)
), {job} FROM following LEFT JOIN due ON true ORDER BY due.wake_at;

-- name: lock
-- What advances have to know about their jobs, which nobody edits or fires meanwhile; in the order of ids, so that nobody
-- waits in a circle.
SELECT id, version, next_fire_at, active_run FROM job WHERE id = ANY ($1::uuid[]) AND state = 0 AND next_fire_at <= now()
ORDER BY id FOR NO KEY UPDATE;

-- name: advance
-- Moves locked jobs on: next fire time $2, wake time $3 or a duration $4 from now, active run $5.
UPDATE job SET next_fire_at = a.next_fire_at, wake_at = coalesce(now() + a.look_again, a.wake_at), active_run = a.active_run
FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::interval[], $5::uuid[])
    AS a(id, next_fire_at, wake_at, look_again, active_run)
WHERE job.id = a.id AND job.id = ANY ($1::uuid[]);

-- name: skip
-- One row for each skipped range (id, job, first, last, count, reason) of a job, whatever its length.
WITH given AS MATERIALIZED (
    SELECT s.*, j.owner, j.project, j.name, j.handler, j.lane, j.priority, j.timeout, j.retry
    FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::bigint[], $6::text[])
        AS s(id, job_id, first, last, amount, reason) JOIN job j ON j.id = s.job_id AND j.id = ANY ($2::uuid[])
), ended AS (
    INSERT INTO history (id, job_id, owner, project, name, kind, handler, lane, priority, timeout, retry, payload,
                         created_at, version, due_at, state, fence, attempt, failures, losses, finished_at, reason, log,
                         skipped_to, skipped_count)
    SELECT id, job_id, owner, project, name, 2, handler, lane, priority, timeout, retry, '',
           now(), 1, first, 5, 0, 0, 0, 0, now(), reason, '', last, amount
    FROM given WHERE (SELECT true FROM history h WHERE h.id = given.id AND h.finished_at < now() + interval '1 day'
                        AND h.finished_at >= given.first - interval '1 day' LIMIT 1) IS NULL
)
INSERT INTO tally (owner, lane, kind, what, amount, ids)
SELECT owner, lane, 2, 'skipped', least(sum(coalesce(amount, 1)), 9223372036854775807)::bigint, array_agg(id) FROM given GROUP BY owner, lane;

-- name: find
SELECT {job} FROM job WHERE id = $1;

-- name: save
UPDATE job SET owner = $4, project = $5, name = $6, key = $7, state = $8, version = version + 1, terms = $9, updated_at = now(),
    next_fire_at = $10, wake_at = $11, handler = $12, lane = $13, priority = $14, timeout = $15, retry = $16, payload = $17,
    blob = $18, changed = pg_current_xact_id()
WHERE id = $1 AND version = $2 AND next_fire_at IS NOT DISTINCT FROM $3 AND state <> 2
RETURNING {job};
