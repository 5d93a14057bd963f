-- Every statement removes a bounded number of rows and says how many. What it is to remove is looked up once and locked;
-- what others hold is left for the next time. Rows are looked up elsewhere one by one, by index: asked for all at once, the
-- planner might read the whole history instead.

-- name: bound
-- Before which instant things are old enough. Ages under a week are kept to the moment; above, whole weeks are forgotten.
SELECT CASE WHEN $1::interval < interval '7 days' THEN now() - $1::interval
            ELSE date_trunc('week', now() - $1::interval, 'UTC') END;

-- name: dead_letters
WITH gone AS (
    DELETE FROM dead_letter WHERE run_id = ANY(ARRAY(
        SELECT run_id FROM dead_letter WHERE died_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: runs
-- Runs end in the order in which they are stored, so that the oldest are found without an index.
WITH gone AS (
    DELETE FROM history WHERE finished_at < $1 AND id = ANY(ARRAY(
        SELECT id FROM history WHERE finished_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: hidden
-- A job that was deleted stays so as long as its run could be shown.
WITH gone AS (
    DELETE FROM hidden WHERE id = ANY(ARRAY(
        SELECT o.id FROM hidden o WHERE o.at < $1 AND (SELECT true FROM queue q WHERE q.id = o.id) IS NULL
          AND (SELECT true FROM history h WHERE h.id = o.id LIMIT 1) IS NULL
        LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: output
WITH gone AS (
    DELETE FROM output WHERE ctid = ANY(ARRAY(
        SELECT o.ctid FROM output o WHERE o.at < $1 AND (SELECT true FROM queue q WHERE q.id = o.run_id) IS NULL
          AND (SELECT true FROM history h WHERE h.id = o.run_id AND h.finished_at >= $1 LIMIT 1) IS NULL
        LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: keys
-- Keys of what is still there stay: forgetting one would let its job be stored again.
WITH gone AS (
    DELETE FROM idempotency WHERE ctid = ANY(ARRAY(
        SELECT i.ctid FROM idempotency i WHERE i.accepted_at < $1 AND (SELECT true FROM queue q WHERE q.id = i.id) IS NULL
          AND (SELECT true FROM job j WHERE j.id = i.id AND j.state <> 2) IS NULL
        LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: sessions
WITH gone AS (
    DELETE FROM session WHERE id = ANY(ARRAY(
        SELECT s.id FROM session s WHERE s.state = 1 AND s.expires_at < $1
          AND (SELECT true FROM queue q WHERE q.session = s.id AND q.state = 1 LIMIT 1) IS NULL
        LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: blobs
-- A blob that something still names stays; its age was renewed when it was last written.
WITH gone AS (
    DELETE FROM blob WHERE at < $1 AND id = ANY(ARRAY(
        SELECT b.id FROM blob b WHERE b.at < $1 AND (SELECT true FROM queue q WHERE q.blob = b.id LIMIT 1) IS NULL
          AND (SELECT true FROM job j WHERE j.blob = b.id LIMIT 1) IS NULL
          AND (SELECT true FROM history h WHERE h.blob = b.id LIMIT 1) IS NULL
          AND (SELECT true FROM history h WHERE h.result_blob = b.id LIMIT 1) IS NULL
        LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: fold
-- The oldest tallies, if they are so old, become part of the totals: one process at a time, so that totals are never waited
-- for. The newest transaction among them is noted for whoever follows the tallies.
WITH old AS (
    DELETE FROM tally WHERE number = ANY(ARRAY(
        SELECT number FROM (SELECT number, at FROM tally ORDER BY number LIMIT $1) AS first
        WHERE at < now() - $2::interval
          AND (SELECT pg_try_advisory_xact_lock(hashtextextended('mainspring/fold/' || current_schema(), 0)))
    )) RETURNING xact, owner, lane, kind, what, amount
), added AS (
    INSERT INTO total AS t (owner, lane, kind, what, amount)
    SELECT owner, lane, kind, what, least(sum(amount), 9223372036854775807)::bigint FROM old GROUP BY owner, lane, kind, what HAVING sum(amount) <> 0
    ON CONFLICT (owner, lane, kind, what) DO UPDATE SET amount = least(t.amount::numeric + excluded.amount, 9223372036854775807)::bigint
), noted AS (
    UPDATE folded SET xact = greatest(folded.xact, newest.xact)
    FROM (SELECT xact FROM old ORDER BY xact DESC LIMIT 1) AS newest
)
SELECT count(*) FROM old;
