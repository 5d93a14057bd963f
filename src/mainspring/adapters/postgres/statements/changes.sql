-- What has changed since a snapshot, $1: what transactions wrote that weren't visible in it.

-- name: position
SELECT pg_current_snapshot();

-- name: ends
-- Where we are; whether changes since then are lost, because they were added up or because the place isn't one of ours;
-- and how many there are. A transaction that hadn't ended then may have been added up although later ones were seen.
SELECT
    pg_current_snapshot(),
    CASE WHEN pg_snapshot_xmax($1::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot()) THEN true
         WHEN NOT pg_visible_in_snapshot(folded.xact, $1) THEN true
         ELSE EXISTS (
             SELECT FROM pg_snapshot_xip($1) AS pending
             WHERE pending <= folded.xact AND coalesce(pg_xact_status(pending), 'committed') = 'committed'
               AND NOT EXISTS (SELECT FROM tally WHERE xact = pending)
         )
    END,
    (SELECT coalesce(sum(cardinality(ids)), 0)::bigint FROM tally WHERE {untold}),
    (SELECT count(*) FROM job WHERE {unseen_job})
FROM folded;

-- name: changed
-- Every run once, in the order of its latest change. A row without a run: it has been forgotten since.
WITH changed AS MATERIALIZED ({changed_runs})
SELECT run.* FROM changed LEFT JOIN LATERAL (
    SELECT {live_change} FROM queue WHERE id = changed.run AND changed.ended IS NULL
    UNION ALL
    SELECT {ended_change} FROM history
    WHERE id = changed.run AND finished_at >= changed.ended - interval '1 day' AND finished_at < changed.ended + interval '1 day'
) AS run ON true
ORDER BY changed.number, changed.run;

-- name: watched
-- The latest changes of runs of some jobs, latest first.
WITH changed AS MATERIALIZED ({changed_runs})
SELECT run.* FROM changed CROSS JOIN LATERAL (
    SELECT {live_change} FROM queue WHERE id = changed.run AND changed.ended IS NULL AND job_id = ANY ($2::uuid[])
    UNION ALL
    SELECT {ended_change} FROM history
    WHERE id = changed.run AND finished_at >= changed.ended - interval '1 day' AND finished_at < changed.ended + interval '1 day'
      AND job_id = ANY ($2::uuid[])
) AS run
ORDER BY changed.number DESC, changed.run DESC LIMIT $3;

-- name: counts
-- How many runs of each owner were added, steered, started or ended, by the state that they are in now.
WITH changed AS MATERIALIZED ({changed_runs})
SELECT owner, state, count(*) FROM (
    SELECT run, owner, state FROM changed WHERE state IS NOT NULL
    UNION
    SELECT queue.id, queue.owner, queue.state FROM changed JOIN queue ON queue.id = changed.run WHERE changed.state IS NULL
    UNION
    SELECT id, owner, state FROM queue WHERE state = 1 AND {new_version}
) AS runs GROUP BY owner, state;

-- name: running
-- Runs in workers' hands, and which of them weren't then.
SELECT {live_change}, {new_version} FROM queue WHERE state = 1 LIMIT $2;

-- name: jobs
SELECT id, owner, name, handler, state, version, next_fire_at FROM job WHERE {unseen_job} ORDER BY changed, id;

-- name: watched_jobs
SELECT id, owner, name, handler, state, version, next_fire_at FROM job
WHERE id = ANY ($2::uuid[]) AND NOT pg_visible_in_snapshot(changed, $1) ORDER BY changed, id;

-- name: job_counts
SELECT owner, count(*) FROM job WHERE {unseen_job} GROUP BY owner;
