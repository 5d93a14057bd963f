-- Lists of columns that several statements return; rows.py reads them in this order.

-- name: attempt
id, nullif(job_id, id), session, fence, attempt, failures, losses, due_at, started_at,
owner, project, log, cancel IS NOT NULL, worker, handler, lane, priority, timeout, retry, payload, blob

-- name: job
id, owner, project, name, key, state, version, terms, created_at, updated_at, next_fire_at, wake_at, active_run,
handler, lane, priority, timeout, retry, payload, blob

-- name: live_run
id, job_id, origin, owner, project, name, key, spec, state, created_at, version, due_at, nullif(wake_at, 'infinity'),
fence, attempt, failures, losses, worker, started_at, NULL::timestamptz, cancel IS NOT NULL,
NULL::bytea, NULL::text, error, reason, NULL::timestamptz, NULL::bigint, log, handler, lane, priority, timeout, retry, payload, blob

-- name: ended_run
id, job_id, origin, owner, project, name, key, spec, state, created_at, version, due_at, NULL::timestamptz,
fence, attempt, failures, losses, worker, started_at, finished_at, false,
result, result_blob, error, reason, skipped_to, skipped_count, log, handler, lane, priority, timeout, retry, payload, blob

-- name: carried
-- What a run takes with it from queue to history, whatever became of it.
id, job_id, origin, due_at, created_at, started_at, timeout, version, kind, priority, owner, project, name, lane, handler,
key, spec, retry, payload, blob, worker
