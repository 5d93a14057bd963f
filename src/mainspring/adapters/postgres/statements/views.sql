-- Pages are cut by id, newest first. A statement of keys looks at a bounded number of rows and says of each whether it
-- matches; what is shown is then read by key. Nothing is ended in a partition of the future: a day is left for clocks that
-- were set back.

-- name: run
-- A run that moves from queue to history is seen once: both reads are of one moment. $2: it can't have ended earlier.
SELECT {live_run} FROM queue WHERE id = $1 AND (SELECT true FROM hidden WHERE hidden.id = queue.id) IS NULL
UNION ALL
SELECT {ended_run} FROM history
WHERE id = $1 AND finished_at >= $2 AND finished_at < now() + interval '1 day'
  AND (SELECT true FROM hidden WHERE hidden.id = history.id) IS NULL;

-- name: runs
-- Live runs by id, ended ones by id and the time when they ended.
SELECT {live_run} FROM queue WHERE id = ANY ($1::uuid[])
UNION ALL
SELECT {ended_run} FROM unnest($2::uuid[], $3::timestamptz[]) AS asked (run, ended)
JOIN history ON id = asked.run AND finished_at = asked.ended;

-- name: records
-- Jobs by id, each with its own run, its newest other live run and its newest other ended run, as far as there are such.
-- $2: a one-shot job can't have ended earlier; null: it hasn't ended. Moments that were skipped aren't runs.
SELECT asked.job, standing.*, run.*
FROM unnest($1::uuid[], $2::timestamptz[]) AS asked (job, since)
LEFT JOIN LATERAL (SELECT {job} FROM job WHERE id = asked.job AND state <> 2) AS standing ON true
LEFT JOIN LATERAL (
    SELECT {live_run} FROM queue WHERE id = asked.job AND job_id = id
      AND (SELECT true FROM hidden WHERE hidden.id = queue.id) IS NULL
    UNION ALL
    SELECT {ended_run} FROM history
    WHERE id = asked.job AND job_id = id AND finished_at >= asked.since AND finished_at < now() + interval '1 day'
      AND (SELECT true FROM hidden WHERE hidden.id = history.id) IS NULL
    UNION ALL
    (SELECT {live_run} FROM queue WHERE job_id = asked.job AND job_id <> id ORDER BY id DESC LIMIT 1)
    UNION ALL
    (SELECT {ended_run} FROM (
        SELECT * FROM history WHERE job_id = asked.job AND job_id <> id AND finished_at < now() + interval '1 day'
        ORDER BY id DESC LIMIT 200
    ) AS latest WHERE state <> 5 ORDER BY id DESC LIMIT 1)
) AS run ON true;

-- name: run_keys
WITH looked AS MATERIALIZED (
    SELECT * FROM (
        (SELECT id, NULL::timestamptz AS ended, owner, state, worker, handler
         FROM queue WHERE id < $1 ORDER BY id DESC LIMIT $2)
        UNION ALL
        (SELECT id, finished_at, owner, state, worker, handler
         FROM history WHERE id < $1 AND finished_at < now() + interval '1 day' ORDER BY id DESC LIMIT $2)
    ) AS found ORDER BY id DESC LIMIT $2
)
SELECT id, ended, {run_matches} FROM looked ORDER BY id DESC;

-- name: run_keys_of_job
-- A job's first run is the job itself if it is a one-shot. $8: that can't have ended earlier.
WITH looked AS MATERIALIZED (
    SELECT * FROM (
        SELECT id, NULL::timestamptz AS ended, owner, state, worker, handler FROM queue WHERE id = $7 AND id < $1
        UNION ALL
        SELECT id, finished_at, owner, state, worker, handler FROM history
        WHERE id = $7 AND id < $1 AND finished_at >= $8 AND finished_at < now() + interval '1 day'
        UNION ALL
        (SELECT id, NULL, owner, state, worker, handler
         FROM queue WHERE job_id = $7 AND job_id <> id AND id < $1 ORDER BY id DESC LIMIT $2)
        UNION ALL
        (SELECT id, finished_at, owner, state, worker, handler FROM history
         WHERE job_id = $7 AND job_id <> id AND id < $1 AND finished_at < now() + interval '1 day' ORDER BY id DESC LIMIT $2)
    ) AS found ORDER BY id DESC LIMIT $2
)
SELECT id, ended, {run_matches} FROM looked ORDER BY id DESC;

-- name: job_keys
-- Runs that aren't jobs, hidden and deleted jobs are looked at and don't match. The last column has the texts to search in.
-- $11: one-shots aren't looked at.
WITH looked AS MATERIALIZED (
    SELECT * FROM (
        (SELECT id, job_id, NULL::timestamptz AS ended, owner, project, name, handler, key,
                CASE WHEN state = 0 AND wake_at = 'infinity' THEN 1 ELSE 0 END::smallint AS state, state AS run_state
         FROM queue WHERE NOT $11::boolean AND id < $1 ORDER BY id DESC LIMIT $2)
        UNION ALL
        (SELECT id, job_id, finished_at, owner, project, name, handler, key, 0::smallint, state
         FROM history WHERE NOT $11 AND id < $1 AND finished_at < now() + interval '1 day' ORDER BY id DESC LIMIT $2)
        UNION ALL
        (SELECT id, id, NULL, owner, project, name, handler, key, state, NULL
         FROM job WHERE id < $1 ORDER BY id DESC LIMIT $2)
    ) AS found ORDER BY id DESC LIMIT $2
)
SELECT id, ended,
    job_id = id AND state <> 2
    AND ($3::text IS NULL OR owner = $3)
    AND ($4::text IS NULL OR project = $4)
    AND ($5::text IS NULL OR name = $5)
    AND ($6::text IS NULL OR handler = $6)
    AND ($7::text IS NULL OR key = $7)
    AND ($8::smallint[] IS NULL OR state = ANY ($8))
    AND (SELECT true FROM hidden WHERE hidden.id = looked.id) IS NULL
    AND ($9::smallint[] IS NULL OR (
        SELECT shown.state FROM (
            SELECT looked.id, looked.run_state AS state WHERE looked.run_state IS NOT NULL
            UNION ALL
            (SELECT id, state FROM queue WHERE job_id = looked.id AND job_id <> id ORDER BY id DESC LIMIT 1)
            UNION ALL
            (SELECT id, state FROM (
                SELECT id, state FROM history
                WHERE job_id = looked.id AND job_id <> id AND finished_at < now() + interval '1 day'
                ORDER BY id DESC LIMIT 200
            ) AS latest WHERE state <> 5 ORDER BY id DESC LIMIT 1)
        ) AS shown ORDER BY shown.state <= 1 DESC, shown.id DESC LIMIT 1
    ) = ANY ($9)),
    CASE WHEN $10::boolean THEN ARRAY[name, handler, coalesce(key, '')] END
FROM looked ORDER BY id DESC;

-- name: keyed
-- The job or run that a key stands for.
SELECT id FROM idempotency WHERE owner = $1 AND key = $2;

-- name: dead_keys
SELECT run_id, died_at,
    ($3::text IS NULL OR owner = $3)
    AND ($4::uuid IS NULL OR job_id = $4)
    AND ($5::text IS NULL OR handler = $5)
    AND ($6::text IS NULL OR fingerprint = $6),
    fingerprint
FROM (SELECT * FROM dead_letter WHERE run_id < $1 ORDER BY run_id DESC LIMIT $2) AS looked ORDER BY run_id DESC;

-- name: totals
-- What was added up, and what wasn't yet; amounts of nothing only tell followers of a change.
SELECT owner, lane, kind, what, least(sum(amount), 9223372036854775807)::bigint
FROM (SELECT owner, lane, kind, what, amount FROM total
      UNION ALL
      SELECT owner, lane, kind, what, amount FROM tally WHERE amount <> 0) AS both_kinds
GROUP BY owner, lane, kind, what;

-- name: running
-- How many runs of each group are in workers' hands.
SELECT owner, lane, kind, count(*) FROM queue WHERE state = 1 GROUP BY owner, lane, kind;

-- name: due
-- How many runs have woken, of all owners or of one. From lane to lane and priority to priority: what wakes later isn't
-- touched.
WITH RECURSIVE level (lane, priority) AS (
    (SELECT lane, priority FROM queue WHERE state = 0 ORDER BY lane, priority DESC LIMIT 1)
    UNION ALL
    SELECT following.* FROM level CROSS JOIN LATERAL (
        (SELECT q.lane, q.priority FROM queue q WHERE q.state = 0 AND q.lane = level.lane AND q.priority < level.priority
         ORDER BY q.priority DESC LIMIT 1)
        UNION ALL
        (SELECT q.lane, q.priority FROM queue q WHERE q.state = 0 AND q.lane > level.lane
         ORDER BY q.lane, q.priority DESC LIMIT 1)
        LIMIT 1
    ) AS following
)
SELECT coalesce(sum(amount), 0)::bigint FROM level CROSS JOIN LATERAL (
    SELECT count(*) AS amount FROM queue q
    WHERE q.lane = level.lane AND q.state = 0 AND q.priority = level.priority AND q.wake_at <= now() + $2::interval
      AND (q.wake_at <= now() OR q.deadline_at IS NOT NULL) AND ($1::text IS NULL OR q.owner = $1)
) AS woken;

-- name: suspects
-- How many runs have woken in the lanes of suspects, whose names end in $1. From lane to lane, as above: an edit may have moved
-- a suspect to one that no worker has served yet.
WITH RECURSIVE waited (lane) AS (
    (SELECT lane FROM queue WHERE state = 0 ORDER BY lane, priority DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT q.lane FROM queue q WHERE q.state = 0 AND q.lane > waited.lane ORDER BY q.lane, q.priority DESC LIMIT 1)
    FROM waited WHERE waited.lane IS NOT NULL
)
SELECT count(*) FROM queue
WHERE lane = ANY(ARRAY(SELECT lane FROM waited WHERE right(lane, length($1)) = $1)) AND state = 0 AND wake_at <= now();

-- name: dead_count
SELECT count(*) FROM dead_letter;

-- name: handlers
SELECT name, lane FROM handler;

-- name: now
SELECT now();
