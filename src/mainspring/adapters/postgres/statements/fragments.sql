-- Lists of columns that several statements return; rows.py reads them in this order.

-- name: attempt
id, nullif(job_id, id), session, fence, attempt, failures, losses, due_at, started_at,
owner, project, log, cancel IS NOT NULL, worker, handler, lane, priority, timeout, retry, payload, blob

-- name: handed_over
-- The same for a claim: what the holder knows anyway is left out, and what nearly all have in common is null. Thousands are
-- read in a moment, and each value costs both sides as much as the next.
id, nullif(job_id, id), fence, attempt, failures, losses, due_at, nullif(wake_at, due_at), nullif(timeout, interval '5 min'),
nullif(cancel IS NOT NULL, false), nullif(owner, 'default'), nullif(project, 'default'), nullif(log, ''),
handler, priority, retry, payload, blob

-- name: job
id, owner, project, name, key, state, version, terms, created_at, updated_at, next_fire_at, wake_at, active_run,
handler, lane, priority, timeout, retry, payload, blob

-- name: live_run
id, job_id, origin, owner, project, name, key, spec, state, created_at, version, due_at,
CASE WHEN state = 0 AND deadline_at IS NOT NULL THEN deadline_at
WHEN wake_at < 'infinity' THEN least(wake_at, '9999-12-31 23:59:59.999998Z') END, fence, attempt, failures, losses, worker, started_at, NULL::timestamptz, cancel IS NOT NULL,
NULL::bytea, NULL::text, error, reason, NULL::timestamptz, NULL::bigint, log, handler, lane, priority, timeout, retry, payload, blob

-- name: ended_run
id, job_id, origin, owner, project, name, key, spec, state, created_at, version, due_at, NULL::timestamptz,
fence, attempt, failures, losses, worker, started_at, finished_at, false,
result, result_blob, error, reason, skipped_to, skipped_count, log, handler, lane, priority, timeout, retry, payload, blob

-- name: late
-- How long a run has waited that starts now, as it is counted: since it could start and was there, at most a week. However
-- old or far off `wake_at` is, even infinite, this is between nothing and a week, and the sum over a batch fits a bigint.
now() - greatest(least(greatest(wake_at, created_at), now()), now() - interval '168 hours')

-- name: carried
-- What a run takes with it from queue to history, whatever became of it.
id, job_id, origin, due_at, created_at, started_at, timeout, version, kind, priority, owner, project, name, lane, handler,
key, spec, retry, payload, blob, worker

-- name: run_matches
($3::text IS NULL OR owner = $3)
    AND ($4::smallint[] IS NULL OR state = ANY ($4))
    AND ($5::text IS NULL OR worker = $5)
    AND ($6::text IS NULL OR handler = $6)
    AND (SELECT true FROM hidden WHERE hidden.id = looked.id) IS NULL

-- name: live_change
id, job_id, owner, name, handler, state, fence, attempt, worker, due_at, started_at, NULL::timestamptz, reason

-- name: ended_change
id, job_id, owner, name, handler, state, fence, attempt, worker, due_at, started_at, finished_at, reason

-- name: untold
-- Rows of `tally` that say something new to whoever saw the snapshot $1. A run that was put back is told by other means.
xact >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(xact, $1)
    AND ids IS NOT NULL AND what NOT IN ('retried', 'lost')

-- name: unseen_job
changed >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(changed, $1)

-- name: new_version
-- Whether the transaction that wrote the row wasn't visible in the snapshot $1. The row has the lower half of its number.
NOT pg_visible_in_snapshot((pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    - ((pg_snapshot_xmax(pg_current_snapshot())::text::bigint - xmin::text::bigint) & 4294967295))::text::xid8, $1::pg_snapshot)

-- name: changed_runs
-- Each run that changed since the snapshot $1, with the state that it ended in, and when.
SELECT run, max(owner) AS owner, max(number) AS number, max(at) FILTER (WHERE state IS NOT NULL) AS ended, max(state) AS state
FROM (
    SELECT unnest(ids) AS run, owner, number, at,
        CASE what WHEN 'succeeded' THEN 2 WHEN 'dead' THEN 3 WHEN 'cancelled' THEN 4 WHEN 'skipped' THEN 5 END::smallint AS state
    FROM tally
    WHERE xact >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(xact, $1)
      AND ids IS NOT NULL AND what NOT IN ('retried', 'lost')
) AS told GROUP BY run
