-- Statements that look into `queue` run on connections that leave them the index of held runs only, however many wait.

-- name: open
-- A handler that moves to another lane is remembered with the newest.
WITH known AS (
    INSERT INTO handler AS h (name, lane) SELECT * FROM unnest($8::text[], $9::text[])
    ON CONFLICT (name) DO UPDATE SET lane = excluded.lane WHERE h.lane <> excluded.lane
)
INSERT INTO session (role, name, host, pid, capacity, lanes, ttl, expires_at, draining)
VALUES ($1, $2, $3, $4, $5, $6::text[], $7::interval, now() + $7::interval, $10) RETURNING id;

-- name: beat
-- One row for each run that the session holds, or a row of nulls if it holds none; no row once it has ended. Alive is
-- written as < 1 here and below: = 0 would offer the planner the index of all that live instead of the key.
WITH beat AS (
    UPDATE session SET expires_at = now() + ttl, beat_at = now(), executing = $2,
        skew = coalesce($3::timestamptz - now(), interval '0'), drained = draining AND $4, trouble = $5
    WHERE id = $1 AND state < 1 RETURNING id, draining
)
SELECT beat.draining, q.id, q.fence, q.cancel IS NOT NULL FROM beat LEFT JOIN queue q ON q.session = beat.id AND q.state = 1;

-- name: close
-- How many runs it `executing` holds is told for the last time, by the store: whoever rescues some of them changes nothing.
UPDATE session SET state = 1, expires_at = least(expires_at, now()),
    executing = $2 + (SELECT count(*) FROM queue q WHERE q.session = $1 AND q.state = 1)
WHERE id = $1 AND state < 1;

-- name: wish
-- Drained is for the session to say, and stays what it said if the same is wished again.
UPDATE session SET draining = $2, drained = drained AND $2 WHERE id = $1 AND state < 1 RETURNING true;

-- name: live
-- Names sort by their bytes, as on every other store, whatever the language of the database.
SELECT id, role, name, host, pid, capacity, executing, lanes, opened_at, beat_at, skew, draining, drained, trouble
FROM session WHERE state = 0 AND role = $1 AND expires_at > now() ORDER BY name COLLATE "C", id;

-- name: bury
-- Passed over is a row that is locked: most probably by the heartbeat that saves it. Counted is what it holds, as above.
UPDATE session SET state = 1, executing = (SELECT count(*) FROM queue q WHERE q.session = session.id AND q.state = 1)
WHERE state < 1 AND id = ANY(ARRAY(
    SELECT id FROM session WHERE state = 0 AND expires_at <= now() LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
));

-- name: ended_with_runs
-- Steps from one holder to the next: one probe of the index for each, however many runs it holds. With each that has ended
-- goes what it held then, or holds if a claim that was under way has brought more; 0 for a session that was forgotten.
WITH RECURSIVE holder(id) AS (
    (SELECT q.session FROM queue q WHERE q.state = 1 AND q.session IS NOT NULL ORDER BY q.session LIMIT 1)
    UNION ALL
    SELECT (SELECT q.session FROM queue q WHERE q.state = 1 AND q.session > holder.id ORDER BY q.session LIMIT 1)
    FROM holder WHERE holder.id IS NOT NULL
)
SELECT holder.id, coalesce((
    SELECT greatest(s.executing, (SELECT count(*) FROM queue q WHERE q.session = s.id AND q.state = 1))
    FROM session s WHERE s.id = holder.id
), 0)::integer
FROM holder
WHERE holder.id IS NOT NULL AND (SELECT s.state FROM session s WHERE s.id = holder.id) IS DISTINCT FROM 0 LIMIT $1;

-- name: held
SELECT {attempt} FROM queue WHERE session = $1 AND state = 1 LIMIT $2;

-- name: overdue
SELECT {attempt} FROM queue WHERE state = 1 AND session IS NOT NULL AND deadline_at < now() LIMIT $1;
