-- name: open
INSERT INTO session (role, name, host, pid, capacity, lanes, ttl, opened_at, beat_at, expires_at, draining)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?8 + ?7, ?9) RETURNING id;

-- name: remember_handlers
-- A handler that moves to another lane is remembered with the newest.
INSERT INTO handler (name, lane) SELECT value ->> 0, value ->> 1 FROM json_each(?1) WHERE true
ON CONFLICT DO UPDATE SET lane = excluded.lane;

-- name: beat
UPDATE session SET expires_at = ?2 + ttl, beat_at = ?2, executing = ?3, skew = ?4, drained = draining AND ?5, trouble = ?6
WHERE id = ?1 AND state = 0 RETURNING draining;

-- name: holds
-- What the store believes that a session holds.
SELECT json_group_array(json_array(hex(id), fence, cancel IS NOT NULL)) FROM queue WHERE session = ?1 AND state = 1;

-- name: close
-- How many runs it `executing` holds is told for the last time, by the store: whoever rescues some of them changes nothing.
UPDATE session SET state = 1, expires_at = min(expires_at, ?2),
    executing = ?3 + (SELECT count(*) FROM queue q WHERE q.session = ?1 AND q.state = 1)
WHERE id = ?1 AND state = 0;

-- name: wish
-- Drained is for the session to say, and stays what it said if the same is wished again.
UPDATE session SET draining = ?2, drained = drained AND ?2 WHERE id = ?1 AND state = 0;

-- name: live
SELECT json_group_array(json_array(
    id, role, name, host, pid, capacity, executing, lanes, opened_at, beat_at, skew, draining, drained, trouble
))
FROM (SELECT * FROM session WHERE state = 0 AND expires_at > ?2 AND role = ?1 ORDER BY name, id);

-- name: bury
-- As above.
UPDATE session SET state = 1, executing = (SELECT count(*) FROM queue q WHERE q.session = session.id AND q.state = 1)
WHERE id IN (SELECT id FROM session WHERE state = 0 AND expires_at <= ?1 LIMIT ?2);

-- name: ended_with_runs
-- Sessions that have ended and still hold runs, with how many they held then. Few runs are held at any time, so that the
-- index of those is the short way.
SELECT json_group_array(json_array(id, held)) FROM (
    SELECT DISTINCT q.session AS id, s.executing AS held
    FROM queue q INDEXED BY queue_session JOIN session s ON s.id = q.session
    WHERE q.state = 1 AND s.state = 1 LIMIT ?1
);

-- name: held
SELECT json_group_array(json_array({attempt})) FROM (SELECT * FROM queue WHERE session = ?1 AND state = 1 ORDER BY seq LIMIT ?2);

-- name: overdue
SELECT json_group_array(json_array({attempt}))
FROM (SELECT * FROM queue INDEXED BY queue_session WHERE state = 1 AND session IS NOT NULL AND deadline_at < ?1 LIMIT ?2);

-- name: handlers
SELECT json_group_object(name, lane) FROM handler;
