-- What has changed since a place in the numbers of history, queue and job.

-- name: ends
-- The first number that history still has, the last ones that history, queue and job gave out, and the latest start.
SELECT json_array(
    (SELECT min(seq) FROM history),
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'history'), 0),
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'queue'), 0),
    coalesce((SELECT max(changed) FROM job), 0),
    coalesce((SELECT max(started_at) FROM queue INDEXED BY queue_session WHERE state = 1 AND session IS NOT NULL), 0)
);

-- name: ended
SELECT json_group_array(json_array({ended_change})) FROM (SELECT * FROM history WHERE seq > ?1 ORDER BY seq);

-- name: added
-- Runs that were added, held, released or edited: each of these gives a new number.
SELECT json_group_array(json_array({live_change})) FROM (SELECT * FROM queue WHERE seq > ?1 ORDER BY seq);

-- name: running
SELECT json_group_array(json_array({live_change}))
FROM (SELECT * FROM queue INDEXED BY queue_session WHERE state = 1 AND session IS NOT NULL LIMIT ?1);

-- name: jobs
SELECT json_group_array(json_array(hex(id), owner, name, handler, state, version, next_fire_at))
FROM (SELECT * FROM job WHERE changed > ?1 ORDER BY changed);

-- name: watched_jobs
SELECT json_group_array(json_array(hex(id), owner, name, handler, state, version, next_fire_at))
FROM (SELECT * FROM job WHERE id IN (SELECT unhex(value) FROM json_each(?2)) AND changed > ?1);

-- name: job_counts
SELECT json_group_array(json_array(owner, amount))
FROM (SELECT owner, count(*) AS amount FROM job WHERE changed > ?1 GROUP BY owner);

-- name: counts
-- How many runs of each owner were added, steered, started or ended, by the state that they are in now.
SELECT json_group_array(json_array(owner, state, amount)) FROM (
    SELECT owner, state, count(*) AS amount FROM (
        SELECT owner, state FROM history WHERE seq > ?1
        UNION ALL
        SELECT owner, state FROM queue WHERE seq > ?2
        UNION ALL
        SELECT owner, state FROM queue INDEXED BY queue_session
        WHERE state = 1 AND session IS NOT NULL AND started_at > ?3 AND seq <= ?2
    ) GROUP BY owner, state
);

-- name: watched_ended
SELECT json_group_array(json_array({ended_change}))
FROM (SELECT * FROM history WHERE seq > ?1 AND job_id IN (SELECT unhex(value) FROM json_each(?2)) ORDER BY seq DESC LIMIT ?3);

-- name: watched_added
SELECT json_group_array(json_array({live_change}))
FROM (SELECT * FROM queue WHERE seq > ?1 AND job_id IN (SELECT unhex(value) FROM json_each(?2)) ORDER BY seq DESC LIMIT ?3);
