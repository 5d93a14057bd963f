-- Lists of columns that several statements return; rows.py reads them in this order.

-- name: attempt
hex(id), hex(nullif(job_id, id)), session, fence, attempt, failures, losses, due_at, started_at, owner, project, log, cancel,
worker, handler, lane, priority, timeout, retry, hex(payload), blob

-- name: job
hex(id), owner, project, name, key, state, version, hex(terms), created_at, updated_at, next_fire_at, wake_at, hex(active_run),
handler, lane, priority, timeout, retry, hex(payload), blob

-- name: live_run
hex(id), hex(job_id), hex(origin), owner, project, name, key, iif(spec IS NULL, NULL, hex(spec)), state, created_at, version, due_at,
iif(state = 0, coalesce(deadline_at, wake_at), wake_at), fence, attempt, failures, losses, worker, started_at, NULL, cancel, NULL, NULL, error, reason,
NULL, NULL, log, handler, lane, priority, timeout, retry, hex(payload), blob

-- name: ended_run
hex(id), hex(job_id), hex(origin), owner, project, name, key, iif(spec IS NULL, NULL, hex(spec)), state, created_at, version, due_at, NULL,
fence, attempt, failures, losses, worker, started_at, finished_at, NULL,
iif(result IS NULL, NULL, hex(result)), result_blob, error, reason,
skipped_to, skipped_count, log, handler, lane, priority, timeout, retry, hex(payload), blob

-- name: live_change
hex(id), hex(job_id), owner, name, handler, state, fence, attempt, worker, due_at, started_at, NULL, reason

-- name: ended_change
hex(id), hex(job_id), owner, name, handler, state, fence, attempt, worker, due_at, started_at, finished_at, reason
