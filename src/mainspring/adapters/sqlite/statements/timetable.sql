-- name: due
-- Active jobs whose wake time has come, with the state of their active run.
SELECT json_group_array(json_array({job}, coalesce(
    (SELECT q.state FROM queue q WHERE q.id = active_run), (SELECT h.state FROM history h WHERE h.id = active_run))))
FROM (SELECT * FROM job WHERE state = 0 AND wake_at IS NOT NULL AND wake_at <= ?1 ORDER BY wake_at LIMIT ?2);

-- name: next_wake
SELECT min(wake_at) FROM job WHERE state = 0 AND wake_at IS NOT NULL;

-- name: as_expected
-- Which advances (job, version, fire time, active run) meet their job as they expect it, at a moment that has come.
SELECT json_group_array(a.key) FROM json_each(?1) a CROSS JOIN job j ON j.id = unhex(a.value ->> 0)
WHERE j.state = 0 AND j.version = a.value ->> 1 AND j.next_fire_at = a.value ->> 2 AND j.active_run IS unhex(a.value ->> 3)
  AND j.next_fire_at <= ?2;

-- name: advance
-- Moves jobs (id, next fire time, wake time, active run) on.
UPDATE job SET next_fire_at = a.value ->> 1, wake_at = a.value ->> 2, active_run = unhex(a.value ->> 3)
FROM json_each(?1) a WHERE job.id = unhex(a.value ->> 0);

-- name: skip
-- One row for each skipped range (id, job, first, last, count, reason) of a job, whatever its length.
INSERT OR IGNORE INTO history (id, job_id, owner, project, name, key, kind, handler, lane, priority, timeout, retry, payload, blob,
                     created_at, version, due_at, state, fence, attempt, failures, losses, finished_at, reason, log,
                     skipped_to, skipped_count)
SELECT unhex(s.value ->> 0), j.id, j.owner, j.project, j.name, NULL, 2, j.handler, j.lane, j.priority, j.timeout, j.retry, x'', NULL,
       ?2, 1, s.value ->> 2, 5, 0, 0, 0, 0, ?2, s.value ->> 5, '', s.value ->> 3, s.value ->> 4
FROM json_each(?1) s CROSS JOIN job j ON j.id = unhex(s.value ->> 1);

-- name: groups
-- The owner and lane that each of these jobs counts for.
SELECT json_group_array(json_array(j.value, job.owner, job.lane)) FROM json_each(?1) j CROSS JOIN job ON job.id = unhex(j.value);

-- name: find
SELECT json_array({job}) FROM job WHERE id = ?1;

-- name: save
UPDATE job SET owner = ?4, project = ?5, name = ?6, key = ?7, state = ?8, version = version + 1, terms = unhex(?9), updated_at = ?10,
    next_fire_at = ?11, wake_at = ?12, handler = ?13, lane = ?14, priority = ?15, timeout = ?16, retry = ?17, payload = unhex(?18), blob = ?19,
    changed = (SELECT max(changed) FROM job) + 1
WHERE id = ?1 AND version = ?2 AND next_fire_at IS ?3 AND state <> 2;
