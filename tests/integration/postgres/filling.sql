-- Rows numbered from %(first)s to %(last)s. Ids carry their time, a second apart; live, ended and standing ones don't meet.

CREATE OR REPLACE FUNCTION pg_temp.run_id(start bigint, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS
    $$ SELECT (lpad(to_hex(start + n * 1000), 12, '0') || lpad(to_hex(n), 20, '7'))::uuid $$;

-- One-shots that wake later, but for ten that run.
INSERT INTO queue (id, job_id, owner, project, name, lane, handler, kind, priority, timeout, payload, due_at, wake_at, state, session)
SELECT pg_temp.run_id(%(start)s, n), pg_temp.run_id(%(start)s, n), 'o' || mod(n, 3), 'p', 'n', 'lane', 'h', 0, mod(n, 10),
       interval '1 minute', '', now(), now() + interval '1 day', CASE WHEN n <= 10 THEN 1 ELSE 0 END, CASE WHEN n <= 10 THEN 1 END
FROM generate_series(%(first)s::bigint, %(last)s) AS n;

-- Every tenth run is one of the same standing job, and of these every tenth was skipped.
INSERT INTO history (id, job_id, owner, project, name, lane, handler, kind, priority, timeout, payload, due_at, created_at,
                     finished_at, fence, version, attempt, failures, losses, state, log)
SELECT pg_temp.run_id(%(start)s, n), CASE WHEN mod(n, 10) = 0 THEN %(job)s::uuid ELSE pg_temp.run_id(%(start)s, n) END,
       'o' || mod(n, 3), 'p', 'n', 'lane', 'h', 0, mod(n, 10), interval '1 minute', '', now(), now(),
       now(), 1, 1, 1, 0, 0, CASE WHEN mod(n, 100) = 0 THEN 5 ELSE 2 END, ''
FROM generate_series(%(first)s::bigint + 5000000, %(last)s::bigint + 5000000) AS n;

INSERT INTO job (id, owner, project, name, state, version, terms, handler, lane, priority, timeout, payload, created_at, updated_at)
SELECT pg_temp.run_id(%(start)s, n), 'o', 'p', 'n', 0, 1, '', 'h', 'lane', 5, interval '1 minute', '', now(), now()
FROM generate_series(%(first)s::bigint + 9000000, %(last)s::bigint + 9000000, 10) AS n;

INSERT INTO dead_letter (run_id, owner, job_id, handler, fingerprint, died_at)
SELECT pg_temp.run_id(%(start)s, n), 'o', pg_temp.run_id(%(start)s, n), 'h', 'f', now()
FROM generate_series(%(first)s::bigint + 5000000, %(last)s::bigint + 5000000, 10) AS n;

INSERT INTO tally (owner, lane, kind, what, amount, ids)
SELECT 'o', 'lane', 0, 'added', 1, ARRAY[pg_temp.run_id(%(start)s, n)]
FROM generate_series(%(first)s::bigint, %(last)s, 10) AS n;

-- Locks are never forgotten; a hundred of them are held.
INSERT INTO lock (name, holder, fence, expires_at)
SELECT 'l' || n, 'h', 1, now() + CASE WHEN n <= 100 THEN 1 ELSE -1 END * interval '1 day'
FROM generate_series(%(first)s::bigint, %(last)s) AS n;
