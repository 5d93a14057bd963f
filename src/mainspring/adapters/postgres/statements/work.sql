-- Batches come in as arrays, one per column. A table that changes fast and an array never meet in a join that the planner
-- may turn around: rows are found by `id = ANY(…)` or by where they lie.

-- name: add
-- New one-shot jobs, each a run; none of them ended before $16. What is a run's own comes first, with the place of what it
-- shares with others: the only one, if none is given. What is stored already, live, ended or as a standing job, is left
-- alone: queue and history are looked at in one moment, so that a run on its way from one to the other is seen. What others
-- add just now makes it fail; in the order of ids, so that nobody waits in a circle. Channel $17, unless it is null, is told
-- $18 as this commits. The answer is the moment, and the ids that were new, or null for all.
WITH given AS MATERIALIZED (
    SELECT *, coalesce(instant, now() + delay) AS due
    FROM unnest($1::uuid[], $2::integer[], $3::timestamptz[], $4::bytea[]) AS own (id, place, instant, payload)
    JOIN unnest($5::text[], $6::text[], $7::text[], $8::bytea[], $9::interval[], $10::text[], $11::text[], $12::smallint[],
                $13::interval[], $14::text[], $15::text[]) WITH ORDINALITY
        AS shared (owner, project, name, spec, delay, handler, lane, priority, timeout, retry, blob, shared_place)
        ON shared_place = coalesce(place, 1)
),
added AS (
    INSERT INTO queue (id, job_id, owner, project, name, spec, kind, due_at, wake_at, handler, lane, priority, timeout, retry,
                       payload, blob)
    SELECT id, id, owner, project, name, spec, (due > now())::integer, due, due, handler, lane, priority, timeout, retry,
           payload, blob
    FROM given WHERE id NOT IN (
        SELECT id FROM queue WHERE id = ANY ($1::uuid[])
        UNION ALL
        SELECT id FROM history WHERE id = ANY ($1::uuid[]) AND finished_at >= $16 AND finished_at < now() + interval '1 day'
        UNION ALL
        SELECT id FROM job WHERE id = ANY ($1::uuid[])
    )
    ORDER BY id RETURNING id, owner, lane, kind
),
counted AS (
    INSERT INTO tally (owner, lane, kind, what, amount, ids)
    SELECT owner, lane, kind, 'added', count(*), array_agg(id) FROM added GROUP BY owner, lane, kind
)
SELECT now(), CASE WHEN (SELECT count(*) FROM added) < cardinality($1::uuid[]) THEN ARRAY(SELECT id FROM added) END,
    CASE WHEN $17::text IS NOT NULL THEN pg_notify($17, $18::text)::text END;

-- name: copied
-- Notes runs $1 that were just copied into the queue, all for owner $3, lane $4 and of kind $5. Answers whether one of them
-- was stored before all the same: it has ended, not before $2, or is a standing job.
WITH counted AS (
    INSERT INTO tally (owner, lane, kind, what, amount, ids) VALUES ($3, $4, $5::smallint, 'added', cardinality($1::uuid[]), $1)
)
SELECT EXISTS (
    SELECT FROM history WHERE id = ANY ($1::uuid[]) AND finished_at >= $2 AND finished_at < now() + interval '1 day'
    UNION ALL
    SELECT FROM job WHERE id = ANY ($1::uuid[])
);

-- name: known
-- Which of these ids are stored already, and now; none of them ended before $2.
SELECT now(), ARRAY(
    SELECT id FROM queue WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT id FROM history WHERE id = ANY ($1::uuid[]) AND finished_at >= $2 AND finished_at < now() + interval '1 day'
    UNION ALL
    SELECT id FROM job WHERE id = ANY ($1::uuid[])
);

-- name: keys_taken
-- What earlier submissions with these keys stored, whoever owns them.
SELECT owner, key, id, body FROM idempotency WHERE owner = ANY ($1::text[]) AND key = ANY ($2::text[]);

-- name: take_keys
-- Keys that somebody else has taken meanwhile are not among the answers; in one order, so that nobody waits in a circle.
INSERT INTO idempotency (owner, key, id, body)
SELECT owner, key, id, body FROM unnest($1::text[], $2::text[], $3::uuid[], $4::bytea[]) AS taken (owner, key, id, body)
ORDER BY owner, key ON CONFLICT DO NOTHING RETURNING id;

-- name: standing
-- Which of these job ids are standing jobs.
SELECT id FROM job WHERE id = ANY ($1::uuid[]);

-- name: insert_runs
-- New runs of any kind: those of standing jobs are told by the last column. Answers the ids that were new.
WITH given AS MATERIALIZED (
    SELECT *, coalesce(instant, now() + delay) AS due
    FROM unnest($1::uuid[], $2::integer[], $3::timestamptz[], $4::bytea[], $16::uuid[], $17::uuid[], $18::text[], $19::boolean[])
        AS own (id, place, instant, payload, job_id, origin, key, standing)
    JOIN unnest($5::text[], $6::text[], $7::text[], $8::bytea[], $9::interval[], $10::text[], $11::text[], $12::smallint[],
                $13::interval[], $14::text[], $15::text[]) WITH ORDINALITY
        AS shared (owner, project, name, spec, delay, handler, lane, priority, timeout, retry, blob, shared_place)
        ON shared_place = coalesce(place, 1)
),
added AS (
    INSERT INTO queue (id, job_id, origin, owner, project, name, key, spec, kind, due_at, wake_at, handler, lane, priority,
                       timeout, retry, payload, blob)
    SELECT id, job_id, origin, owner, project, name, key, spec, CASE WHEN standing THEN 2 WHEN due > now() THEN 1 ELSE 0 END,
           due, due, handler, lane, priority, timeout, retry, payload, blob
    FROM given ORDER BY id ON CONFLICT (id) DO NOTHING RETURNING id, origin, owner, lane, kind
),
counted AS (
    INSERT INTO tally (owner, lane, kind, what, amount, ids)
    SELECT owner, lane, kind, 'added', count(*), array_agg(id) FROM added GROUP BY owner, lane, kind
),
resolved AS (DELETE FROM dead_letter WHERE run_id = ANY (ARRAY(SELECT origin FROM added WHERE origin IS NOT NULL)))
SELECT id FROM added;

-- name: insert_jobs
INSERT INTO job (id, owner, project, name, key, state, version, terms, created_at, updated_at, next_fire_at, wake_at,
                 handler, lane, priority, timeout, retry, payload, blob)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::integer[], $8::bytea[],
                     $9::timestamptz[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::text[],
                     $15::smallint[], $16::interval[], $17::text[], $18::bytea[], $19::text[]) AS job (id)
ORDER BY job.id ON CONFLICT (id) DO NOTHING RETURNING id;

-- name: claim
-- The best due runs of lane $1 become running under new fences, for session $2, at most $3; rows that another claimer holds
-- are passed over. Priorities are walked through one by one, so that runs which wake later are never touched. The last row
-- has no id. It says what is the same for all: the moment (due_at), the holder's name (handler, null for a session that has
-- ended), and unless all $3 were found (cancel) the wait until the next run of the lane wakes (timeout), counted from the
-- moment. $4 is the backstop, $5 the upper bounds of the buckets of waits.
WITH RECURSIVE holder AS MATERIALIZED (SELECT CASE state WHEN 0 THEN name END AS name FROM session WHERE id = $2),
level (priority) AS (
    (SELECT q.priority FROM queue q WHERE q.lane = $1 AND q.state = 0 AND (SELECT name FROM holder) IS NOT NULL
     ORDER BY q.priority DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT q.priority FROM queue q WHERE q.lane = $1 AND q.state = 0 AND q.priority < level.priority
            ORDER BY q.priority DESC LIMIT 1)
    FROM level WHERE level.priority IS NOT NULL
),
chosen AS MATERIALIZED (
    SELECT best.ctid FROM level CROSS JOIN LATERAL (
        SELECT q.ctid FROM queue q
        WHERE q.lane = $1 AND q.state = 0 AND q.priority = level.priority AND q.wake_at <= now()
        ORDER BY q.wake_at LIMIT $3 FOR UPDATE SKIP LOCKED
    ) best LIMIT $3
),
taken AS (
    UPDATE queue SET state = 1, fence = fence + 1, attempt = attempt + 1, session = $2, worker = (SELECT name FROM holder),
        started_at = now(), deadline_at = now() + timeout + $4::interval
    WHERE ctid = ANY (ARRAY(SELECT chosen.ctid FROM chosen))
    RETURNING id, job_id, fence, attempt, failures, losses, due_at, wake_at, timeout, cancel, owner, project, log, handler, lane,
        priority, retry, payload, blob, kind, created_at
),
counted AS (
    INSERT INTO tally (owner, lane, kind, what, amount)
    SELECT owner, lane, kind, coalesce('wait/' || bucket, 'waited'),
           CASE WHEN bucket IS NULL THEN (extract(epoch FROM sum(late)) * 1000000)::bigint ELSE count(*) END
    FROM (SELECT owner, lane, kind, {late} AS late, width_bucket({late}, $5::interval[]) AS bucket FROM taken) AS start
    GROUP BY GROUPING SETS ((owner, lane, kind, bucket), (owner, lane, kind))
)
SELECT {handed_over}, NULL::text FROM taken
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, now(), NULL, CASE WHEN (SELECT count(*) FROM chosen) < $3 THEN (
    SELECT min(later.wake_at) - now() FROM level CROSS JOIN LATERAL (
        SELECT q.wake_at FROM queue q
        WHERE q.lane = $1 AND q.state = 0 AND q.priority = level.priority AND q.wake_at > now() AND q.wake_at < 'infinity'
        ORDER BY q.wake_at LIMIT 1
    ) later
) END, (SELECT count(*) FROM chosen) < $3, NULL, NULL, NULL, (SELECT name FROM holder), NULL, NULL, NULL, NULL, NULL;

-- name: claim_in_turn
-- The same for several lanes $1, which take turns: first it is counted what each has to offer, then how many rounds of one
-- each make $3, and then each lane gives its share, by its own priorities.
WITH RECURSIVE holder AS MATERIALIZED (SELECT CASE state WHEN 0 THEN name END AS name FROM session WHERE id = $2),
asked AS MATERIALIZED (
    SELECT lane, turn FROM unnest($1::text[]) WITH ORDINALITY AS given (lane, turn) WHERE (SELECT name FROM holder) IS NOT NULL
),
level (lane, turn, priority) AS (
    SELECT asked.lane, asked.turn, (SELECT q.priority FROM queue q WHERE q.lane = asked.lane AND q.state = 0
                                    ORDER BY q.priority DESC LIMIT 1)
    FROM asked
    UNION ALL
    SELECT level.lane, level.turn, (SELECT q.priority FROM queue q WHERE q.lane = level.lane AND q.state = 0
                                    AND q.priority < level.priority ORDER BY q.priority DESC LIMIT 1)
    FROM level WHERE level.priority IS NOT NULL
),
offer AS MATERIALIZED (
    SELECT asked.lane, asked.turn, (
        SELECT count(*) FROM (
            SELECT FROM level CROSS JOIN LATERAL (
                SELECT FROM queue q
                WHERE q.lane = asked.lane AND q.state = 0 AND q.priority = level.priority AND q.wake_at <= now() LIMIT $3
            ) due WHERE level.turn = asked.turn LIMIT $3
        ) few
    ) AS amount
    FROM asked
),
share AS MATERIALIZED (
    SELECT lane, turn, count(*) AS amount
    FROM (SELECT lane, turn FROM offer CROSS JOIN LATERAL generate_series(1, offer.amount) AS round (number)
          ORDER BY number, turn LIMIT $3) places
    GROUP BY lane, turn
),
chosen AS MATERIALIZED (
    SELECT best.ctid FROM share CROSS JOIN LATERAL (
        SELECT due.ctid FROM level CROSS JOIN LATERAL (
            SELECT q.ctid FROM queue q
            WHERE q.lane = share.lane AND q.state = 0 AND q.priority = level.priority AND q.wake_at <= now()
            ORDER BY q.wake_at LIMIT $3 FOR UPDATE SKIP LOCKED
        ) due WHERE level.turn = share.turn LIMIT share.amount
    ) best
),
taken AS (
    UPDATE queue SET state = 1, fence = fence + 1, attempt = attempt + 1, session = $2, worker = (SELECT name FROM holder),
        started_at = now(), deadline_at = now() + timeout + $4::interval
    WHERE ctid = ANY (ARRAY(SELECT chosen.ctid FROM chosen))
    RETURNING id, job_id, fence, attempt, failures, losses, due_at, wake_at, timeout, cancel, owner, project, log, handler, lane,
        priority, retry, payload, blob, kind, created_at
),
counted AS (
    INSERT INTO tally (owner, lane, kind, what, amount)
    SELECT owner, lane, kind, coalesce('wait/' || bucket, 'waited'),
           CASE WHEN bucket IS NULL THEN (extract(epoch FROM sum(late)) * 1000000)::bigint ELSE count(*) END
    FROM (SELECT owner, lane, kind, {late} AS late, width_bucket({late}, $5::interval[]) AS bucket FROM taken) AS start
    GROUP BY GROUPING SETS ((owner, lane, kind, bucket), (owner, lane, kind))
)
SELECT {handed_over}, lane FROM taken
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, now(), NULL, CASE WHEN coalesce((SELECT sum(amount) FROM share), 0) < $3 THEN (
    SELECT min(later.wake_at) - now() FROM level CROSS JOIN LATERAL (
        SELECT q.wake_at FROM queue q
        WHERE q.lane = level.lane AND q.state = 0 AND q.priority = level.priority AND q.wake_at > now() AND q.wake_at < 'infinity'
        ORDER BY q.wake_at LIMIT 1
    ) later
) END, coalesce((SELECT sum(amount) FROM share), 0) < $3, NULL, NULL, NULL, (SELECT name FROM holder), NULL, NULL, NULL, NULL, NULL;

-- name: next_wakes
-- The wait until the next run of each lane wakes, counted from the answer, held ones apart.
WITH RECURSIVE level (lane, priority) AS (
    SELECT asked.lane, (SELECT q.priority FROM queue q WHERE q.lane = asked.lane AND q.state = 0 ORDER BY q.priority DESC LIMIT 1)
    FROM unnest($1::text[]) AS asked (lane)
    UNION ALL
    SELECT level.lane, (SELECT q.priority FROM queue q WHERE q.lane = level.lane AND q.state = 0 AND q.priority < level.priority
                        ORDER BY q.priority DESC LIMIT 1)
    FROM level WHERE level.priority IS NOT NULL
)
SELECT level.lane, min(first.wake_at) - clock_timestamp() FROM level CROSS JOIN LATERAL (
    SELECT q.wake_at FROM queue q
    WHERE q.lane = level.lane AND q.state = 0 AND q.priority = level.priority AND q.wake_at < 'infinity'
    ORDER BY q.wake_at LIMIT 1
) first GROUP BY level.lane;

-- name: succeed
-- Successes (id $1, fence $2) with nothing to tell, the most frequent verdict by far. The fence is compared again after a
-- wait for a lock, and IS TRUE keeps the comparison out of a join. The answer is null if all met their runs, else the ids
-- of those that did.
WITH left_queue AS (
    DELETE FROM queue WHERE id = ANY ($1::uuid[])
        AND ((id, fence) IN (SELECT * FROM unnest($1::uuid[], $2::integer[]))) IS TRUE
    RETURNING *
),
ended AS (
    INSERT INTO history ({carried}, finished_at, fence, attempt, failures, losses, state, log)
    SELECT {carried}, now(), fence, attempt, failures, losses, 2, log FROM left_queue
),
counted AS (
    INSERT INTO tally (owner, lane, kind, what, amount, ids)
    SELECT owner, lane, kind, 'succeeded', count(*), array_agg(id) FROM left_queue GROUP BY owner, lane, kind
)
SELECT CASE WHEN (SELECT count(*) FROM left_queue) < cardinality($1::uuid[]) THEN ARRAY(SELECT id FROM left_queue) END;

-- name: succeed_with
-- The same where some have something to tell: result $3, its blob $4, and attempt, failures, losses and log as the
-- verdict has them ($5 to $8), null where the row's own stand.
WITH left_queue AS (
    DELETE FROM queue WHERE id = ANY ($1::uuid[])
        AND ((id, fence) IN (SELECT * FROM unnest($1::uuid[], $2::integer[]))) IS TRUE
    RETURNING *
),
ended AS (
    INSERT INTO history ({carried}, finished_at, fence, attempt, failures, losses, state, result, result_blob, log)
    SELECT {carried}, now(), fence, coalesce(told_attempt, attempt), coalesce(told_failures, failures),
           coalesce(told_losses, losses), 2, told_result, told_blob, coalesce(told_log, log)
    FROM left_queue JOIN unnest($1::uuid[], $3::bytea[], $4::text[], $5::integer[], $6::integer[], $7::integer[], $8::bytea[])
        AS told (told_id, told_result, told_blob, told_attempt, told_failures, told_losses, told_log) ON told_id = id
),
counted AS (
    INSERT INTO tally (owner, lane, kind, what, amount, ids)
    SELECT owner, lane, kind, 'succeeded', count(*), array_agg(id) FROM left_queue GROUP BY owner, lane, kind
)
SELECT CASE WHEN (SELECT count(*) FROM left_queue) < cardinality($1::uuid[]) THEN ARRAY(SELECT id FROM left_queue) END;

-- name: settled_before
-- The fences under which these runs were settled, ended or put back; none of them ended before $2.
SELECT id, fence FROM history WHERE id = ANY ($1::uuid[]) AND finished_at >= $2 AND finished_at < now() + interval '1 day'
UNION ALL
SELECT id, settled FROM queue WHERE id = ANY ($1::uuid[]);

-- name: lock_runs
-- What verdicts have to know about live runs; locked in the order of their ids, so that nobody waits in a circle.
SELECT id, fence, session, state, cancel, owner, lane, kind, handler FROM queue WHERE id = ANY ($1::uuid[])
ORDER BY id FOR UPDATE;

-- name: finish
-- Locked runs end: id, state, attempt, failures, losses, result, result_blob, error, reason, log, and the fingerprint of
-- those that go to the dead letters.
WITH left_queue AS (DELETE FROM queue WHERE id = ANY ($1::uuid[]) RETURNING *),
told AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::integer[], $4::integer[], $5::integer[], $6::bytea[], $7::text[],
                         $8::text[], $9::text[], $10::bytea[], $11::text[])
        AS told (told_id, told_state, told_attempt, told_failures, told_losses, told_result, told_blob, told_error, told_reason,
                 told_log, fingerprint)
),
ended AS (
    INSERT INTO history ({carried}, finished_at, fence, attempt, failures, losses, state, result, result_blob, error, reason, log)
    SELECT {carried}, now(), fence, told_attempt, told_failures, told_losses, told_state, told_result, told_blob, told_error,
           told_reason, told_log
    FROM left_queue JOIN told ON told_id = id
)
INSERT INTO dead_letter (run_id, owner, job_id, handler, fingerprint, died_at)
SELECT id, owner, job_id, handler, fingerprint, now() FROM left_queue JOIN told ON told_id = id WHERE fingerprint IS NOT NULL;

-- name: put_back
-- Locked runs wait again: id, delay, attempt, failures, losses, error, reason, log, whether the fence is kept, as for a loss,
-- so that the last holder's late result still counts, and the lane: suspects wait in one of their own.
UPDATE queue SET state = 0, session = NULL, deadline_at = NULL, wake_at = now() + least(told_delay, interval '3650 days'),
    attempt = told_attempt, failures = told_failures, losses = told_losses, error = told_error, reason = told_reason, log = told_log,
    settled = CASE WHEN kept THEN settled ELSE fence END, fence = CASE WHEN kept THEN fence ELSE fence + 1 END, lane = told_lane
FROM unnest($1::uuid[], $2::interval[], $3::integer[], $4::integer[], $5::integer[], $6::text[], $7::text[], $8::bytea[],
            $9::boolean[], $10::text[])
    AS told (told_id, told_delay, told_attempt, told_failures, told_losses, told_error, told_reason, told_log, kept, told_lane)
WHERE id = ANY ($1::uuid[]) AND id = told_id;

-- name: count
-- What became of runs (owner, lane, kind, what, id), one row per group.
INSERT INTO tally (owner, lane, kind, what, amount, ids)
SELECT owner, lane, kind, what, count(*), array_agg(id)
FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[], $5::uuid[]) AS run (owner, lane, kind, what, id)
GROUP BY owner, lane, kind, what;

-- name: steered
-- What an order has to know about a live run; nobody claims, settles or steers it until the order is carried out.
SELECT id, state, version, wake_at = 'infinity' AS held, owner, lane, kind FROM queue WHERE id = $1 FOR UPDATE;

-- name: ended_state
SELECT state FROM history WHERE id = $1 AND finished_at >= $2 AND finished_at < now() + interval '1 day';

-- name: flag
UPDATE queue SET cancel = coalesce(cancel, $2) WHERE id = $1;

-- name: cancel_waiting
-- Ends a run that waits; the fence grows, so that a late result of an earlier holder is stale.
WITH left_queue AS (DELETE FROM queue WHERE id = $1 RETURNING *),
ended AS (
    INSERT INTO history ({carried}, finished_at, fence, attempt, failures, losses, state, error, reason, log)
    SELECT {carried}, now(), fence + 1, attempt, failures, losses, 4, error, $2, log FROM left_queue
)
INSERT INTO tally (owner, lane, kind, what, amount, ids) SELECT owner, lane, kind, 'cancelled', 1, ARRAY[id] FROM left_queue;

-- name: hold
-- A ticket that is out is worthless from now on, as after a release and an edit.
WITH changed AS (
    UPDATE queue SET held_wake = coalesce(deadline_at, wake_at), wake_at = 'infinity', fence = fence + 1, version = version + 1, deadline_at = NULL
    WHERE id = $1 RETURNING *
)
INSERT INTO tally (owner, lane, kind, what, amount, ids) SELECT owner, lane, kind, 'held', 0, ARRAY[id] FROM changed;

-- name: release
WITH changed AS (
    UPDATE queue SET wake_at = held_wake, held_wake = NULL, fence = fence + 1, version = version + 1, deadline_at = NULL
    WHERE id = $1 RETURNING *
)
INSERT INTO tally (owner, lane, kind, what, amount, ids) SELECT owner, lane, kind, 'released', 0, ARRAY[id] FROM changed;

-- name: edit_task
UPDATE queue SET handler = $2, lane = $3, priority = $4, timeout = $5, retry = $6, payload = $7, blob = $8 WHERE id = $1;

-- name: move_count
-- A run is counted where it will be claimed: what lives in a lane is what was added there and hasn't ended.
INSERT INTO tally (owner, lane, kind, what, amount, ids)
SELECT $2, lane, $3, 'added', amount, ARRAY[$1::uuid] FROM (VALUES ($4::text, -1), ($5::text, 1)) AS moved (lane, amount);

-- name: edit_rest
-- A due time is an instant $2, or a duration $3 from now; a held run stays held, and wakes by it once it is released.
WITH due AS MATERIALIZED (SELECT coalesce($2::timestamptz, now() + $3::interval) AS moment),
changed AS (
    UPDATE queue SET due_at = coalesce(moment, due_at),
        wake_at = CASE WHEN wake_at = 'infinity' THEN wake_at ELSE coalesce(moment, deadline_at, wake_at) END,
        held_wake = CASE WHEN wake_at = 'infinity' THEN coalesce(moment, held_wake) END,
        name = coalesce($4, name), spec = coalesce($5, spec), fence = fence + 1, version = version + 1, deadline_at = NULL
    FROM due WHERE id = $1 RETURNING queue.*
)
INSERT INTO tally (owner, lane, kind, what, amount, ids) SELECT owner, lane, kind, 'edited', 0, ARRAY[id] FROM changed;

-- name: discard
DELETE FROM dead_letter WHERE run_id = ANY ($1::uuid[]) RETURNING run_id;

-- name: hide
-- Hides a one-shot job that has ended, not before $2, or is about to; answers whether there is one.
WITH found AS MATERIALIZED (
    SELECT FROM history WHERE id = $1 AND job_id = id AND finished_at >= $2 AND finished_at < now() + interval '1 day'
    UNION ALL
    SELECT FROM queue WHERE id = $1 AND job_id = id AND cancel IS NOT NULL
),
hidden AS (INSERT INTO hidden (id) SELECT $1 WHERE EXISTS (SELECT FROM found) ON CONFLICT DO NOTHING),
resolved AS (DELETE FROM dead_letter WHERE run_id = $1 AND EXISTS (SELECT FROM found))
SELECT EXISTS (SELECT FROM found);
