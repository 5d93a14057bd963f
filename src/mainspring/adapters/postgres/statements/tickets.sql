-- Batches come in as arrays, one per column. A waiting run with a deadline has a ticket out, since then;
-- its wake time is when claims may have it.

-- name: take
-- Due runs of the lanes $1 of which nobody has a ticket, at most $2, by lane and priority; claims pass over them for $3. Rows
-- that somebody holds are passed over. A row that changed between the look at it and its lock isn't marked, and isn't told.
WITH RECURSIVE level (lane, turn, priority) AS (
    SELECT asked.lane, asked.turn, (SELECT q.priority FROM queue q WHERE q.lane = asked.lane AND q.state = 0
                                    ORDER BY q.priority DESC LIMIT 1)
    FROM unnest($1::text[]) WITH ORDINALITY AS asked (lane, turn)
    UNION ALL
    SELECT level.lane, level.turn, (SELECT q.priority FROM queue q WHERE q.lane = level.lane AND q.state = 0
                                    AND q.priority < level.priority ORDER BY q.priority DESC LIMIT 1)
    FROM level WHERE level.priority IS NOT NULL
),
chosen AS MATERIALIZED (
    SELECT best.* FROM level CROSS JOIN LATERAL (
        SELECT q.ctid, q.id, q.fence, q.lane, q.priority, q.wake_at FROM queue q
        WHERE q.lane = level.lane AND q.state = 0 AND q.priority = level.priority AND q.wake_at <= now() AND q.deadline_at IS NULL
        ORDER BY q.wake_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ) best LIMIT $2
),
taken AS (
    UPDATE queue SET wake_at = now() + $3::interval, deadline_at = now()
    WHERE ctid = ANY (ARRAY(SELECT chosen.ctid FROM chosen))
    RETURNING id
)
SELECT id, fence, lane, priority, wake_at FROM chosen WHERE (id IN (SELECT taken.id FROM taken)) IS TRUE;

-- name: start
-- Runs that wait as they did when tickets of them (id $2, fence $3, wake time $4) were given out become running under new
-- fences, for session $1. What is compared is compared again after a wait for a lock, and IS TRUE keeps the comparison out of
-- a join. A clock that was set back may make it too early. A row without an id says that the session has ended. $5 is the backstop, $6 the upper bounds of
-- the buckets of waits, which are told by when a run was to start: its row says when claims may have it.
WITH holder AS MATERIALIZED (SELECT CASE state WHEN 0 THEN name END AS name FROM session WHERE id = $1),
taken AS (
    UPDATE queue SET state = 1, fence = fence + 1, attempt = attempt + 1, session = $1, worker = (SELECT name FROM holder),
        started_at = now(), deadline_at = now() + timeout + $5::interval
    WHERE id = ANY ($2::uuid[]) AND deadline_at <= now() AND (SELECT name FROM holder) IS NOT NULL
        AND ((id, fence, state) IN (SELECT *, 0::smallint FROM unnest($2::uuid[], $3::integer[]))) IS TRUE
    RETURNING {attempt}, kind, created_at
),
started AS MATERIALIZED (
    SELECT taken.owner, taken.lane, taken.kind, {late} AS late
    FROM taken JOIN unnest($2::uuid[], $3::integer[], $4::timestamptz[]) AS given (id, fence, wake_at)
        ON given.id = taken.id AND given.fence = taken.fence - 1
),
counted AS (
    INSERT INTO tally (owner, lane, kind, what, amount)
    SELECT owner, lane, kind, coalesce('wait/' || bucket, 'waited'),
           CASE WHEN bucket IS NULL THEN (extract(epoch FROM sum(late)) * 1000000)::bigint ELSE count(*) END
    FROM (SELECT owner, lane, kind, late, width_bucket(late, $6::interval[]) AS bucket FROM started) AS start
    GROUP BY GROUPING SETS ((owner, lane, kind, bucket), (owner, lane, kind))
)
SELECT * FROM taken
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
WHERE (SELECT name FROM holder) IS NULL;
