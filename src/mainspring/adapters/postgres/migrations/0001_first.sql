-- Instants are timestamptz by the server's clock, durations intervals; ids are UUIDs that sort by time.
-- What users gave as JSON (payload, spec, result) is kept as the bytes of its text: jsonb would reorder it.
-- Tables through which much passes are vacuumed after a number of rows, however large they are, and at full speed.

-- Standing jobs: recurring and on demand. A one-shot job is a row of `queue`, later of `history`.
-- `changed` is the transaction of the last addition or edit (a tick of the schedule is neither), for whoever follows them.
CREATE TABLE job (
    id           uuid        NOT NULL PRIMARY KEY,
    owner        text        NOT NULL,
    project      text        NOT NULL,
    name         text        NOT NULL,
    key          text,
    state        smallint    NOT NULL,
    version      integer     NOT NULL,
    terms        bytea       NOT NULL,
    handler      text        NOT NULL,
    lane         text        NOT NULL,
    priority     smallint    NOT NULL,
    timeout      interval    NOT NULL,
    retry        text,
    payload      bytea       NOT NULL,
    blob         text,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    next_fire_at timestamptz,
    wake_at      timestamptz,
    active_run   uuid,
    changed      xid8        NOT NULL DEFAULT pg_current_xact_id()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX job_changed ON job (changed);
CREATE INDEX job_wake ON job (wake_at) WHERE state = 0 AND wake_at IS NOT NULL;
CREATE INDEX job_blob ON job (blob) WHERE blob IS NOT NULL;

-- Live runs only: state 0 waits, 1 runs. A held run has `wake_at` infinity and keeps its own wake time in `held_wake`.
-- `settled` is the fence of the last hand-over that was settled, which tells a repeated verdict from a stale one.
-- `worker` is the name of the holder, or of the last one while the run waits: its late result may still count.
-- Every claim touches all indexes, so that there are few.
CREATE TABLE queue (
    id          uuid        NOT NULL PRIMARY KEY,
    job_id      uuid        NOT NULL,
    origin      uuid,
    session     bigint,
    due_at      timestamptz NOT NULL,
    wake_at     timestamptz NOT NULL,
    held_wake   timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    started_at  timestamptz,
    deadline_at timestamptz,
    timeout     interval    NOT NULL,
    fence       integer     NOT NULL DEFAULT 0,
    settled     integer     NOT NULL DEFAULT 0,
    version     integer     NOT NULL DEFAULT 1,
    attempt     integer     NOT NULL DEFAULT 0,
    failures    integer     NOT NULL DEFAULT 0,
    losses      integer     NOT NULL DEFAULT 0,
    state       smallint    NOT NULL DEFAULT 0,
    kind        smallint    NOT NULL,
    priority    smallint    NOT NULL,
    owner       text        NOT NULL,
    project     text        NOT NULL,
    name        text        NOT NULL,
    lane        text        NOT NULL,
    handler     text        NOT NULL,
    key         text,
    spec        bytea,
    retry       text,
    payload     bytea       NOT NULL,
    blob        text,
    worker      text,
    cancel      text,
    error       text,
    reason      text,
    log         bytea       NOT NULL DEFAULT ''
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
        autovacuum_analyze_scale_factor = 0.2, vacuum_truncate = off);
CREATE INDEX queue_claim ON queue (lane, priority DESC, wake_at) WHERE state = 0;
CREATE INDEX queue_session ON queue (session) WHERE state = 1;
CREATE INDEX queue_job ON queue (job_id, id) WHERE job_id <> id;
CREATE INDEX queue_blob ON queue (blob) WHERE blob IS NOT NULL;

-- Ended runs and skipped ranges, append-only, one partition per week of ending (see partitions.sql).
CREATE TABLE history (
    id            uuid        NOT NULL,
    job_id        uuid        NOT NULL,
    origin        uuid,
    due_at        timestamptz NOT NULL,
    created_at    timestamptz NOT NULL,
    started_at    timestamptz,
    finished_at   timestamptz NOT NULL,
    skipped_to    timestamptz,
    skipped_count bigint,
    timeout       interval    NOT NULL,
    fence         integer     NOT NULL,
    version       integer     NOT NULL,
    attempt       integer     NOT NULL,
    failures      integer     NOT NULL,
    losses        integer     NOT NULL,
    state         smallint    NOT NULL,
    kind          smallint    NOT NULL,
    priority      smallint    NOT NULL,
    owner         text        NOT NULL,
    project       text        NOT NULL,
    name          text        NOT NULL,
    lane          text        NOT NULL,
    handler       text        NOT NULL,
    key           text,
    spec          bytea,
    retry         text,
    payload       bytea       NOT NULL,
    blob          text,
    worker        text,
    result        bytea,
    result_blob   text,
    error         text,
    reason        text,
    log           bytea       NOT NULL,
    PRIMARY KEY (id, finished_at)
) PARTITION BY RANGE (finished_at);
CREATE INDEX history_job ON history (job_id, id) WHERE job_id <> id;
CREATE INDEX history_blob ON history (blob) WHERE blob IS NOT NULL;
CREATE INDEX history_result ON history (result_blob) WHERE result_blob IS NOT NULL;

-- Runs whose budget is used up, until somebody requeues or discards them.
CREATE TABLE dead_letter (
    run_id      uuid        NOT NULL PRIMARY KEY,
    owner       text        NOT NULL,
    job_id      uuid        NOT NULL,
    handler     text        NOT NULL,
    fingerprint text        NOT NULL,
    died_at     timestamptz NOT NULL
);

-- Ended one-shot jobs that somebody deleted.
CREATE TABLE hidden (
    id uuid        NOT NULL PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE idempotency (
    owner       text        NOT NULL,
    key         text        NOT NULL,
    id          uuid        NOT NULL,
    body        bytea       NOT NULL,
    accepted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, key)
);
CREATE INDEX idempotency_age ON idempotency (accepted_at);

-- state: 0 alive, 1 ended.
CREATE TABLE session (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    role       text        NOT NULL,
    name       text        NOT NULL,
    host       text        NOT NULL,
    pid        integer     NOT NULL,
    capacity   integer     NOT NULL,
    lanes      text[]      NOT NULL,
    ttl        interval    NOT NULL,
    state      smallint    NOT NULL DEFAULT 0,
    opened_at  timestamptz NOT NULL DEFAULT now(),
    beat_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    executing  integer     NOT NULL DEFAULT 0,
    skew       interval    NOT NULL DEFAULT '0'
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
-- Not by expiry: a heartbeat that changes no indexed column leaves every index alone.
CREATE INDEX session_alive ON session (role, name, id) WHERE state = 0;

-- Every handler that a worker ever served: never forgotten.
CREATE TABLE handler (
    name text NOT NULL PRIMARY KEY,
    lane text NOT NULL
);

-- Named locks. Rows are never deleted: a fence must not begin again.
CREATE TABLE lock (
    name       text        NOT NULL PRIMARY KEY,
    holder     text        NOT NULL,
    fence      bigint      NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE blob (
    id   text        NOT NULL PRIMARY KEY,
    at   timestamptz NOT NULL DEFAULT now(),
    data bytea       NOT NULL
);
CREATE INDEX blob_age ON blob (at);

CREATE TABLE output (
    run_id   uuid        NOT NULL,
    fence    integer     NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    head     bytea       NOT NULL,
    tail     bytea       NOT NULL,
    length   bigint      NOT NULL,
    progress double precision,
    message  text,
    PRIMARY KEY (run_id, fence)
);
CREATE INDEX output_age ON output (at);

-- What every batch did, one row per group, appended in the batch's own statement, so that nothing waits for a shared counter.
-- It is also how followers learn what has changed: `ids` names the runs, `xact` the transaction. The rescuer adds rows up
-- into `total` once followers have had their time; `what` is added, retried, lost, a terminal state, or wait/<bucket>.
CREATE TABLE tally (
    number bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xact   xid8        NOT NULL DEFAULT pg_current_xact_id(),
    at     timestamptz NOT NULL DEFAULT now(),
    owner  text        NOT NULL,
    lane   text        NOT NULL,
    kind   smallint    NOT NULL,
    what   text        NOT NULL,
    amount bigint      NOT NULL,
    ids    uuid[]
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX tally_xact ON tally (xact);

CREATE TABLE total (
    owner  text     NOT NULL,
    lane   text     NOT NULL,
    kind   smallint NOT NULL,
    what   text     NOT NULL,
    amount bigint   NOT NULL,
    PRIMARY KEY (owner, lane, kind, what)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- The latest transaction whose tallies were added up: whoever hasn't seen it has missed something. One row.
CREATE TABLE folded (
    single boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (single),
    xact   xid8    NOT NULL
);
INSERT INTO folded (xact) VALUES ('0');

CREATE TABLE audit (
    number  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT now(),
    actor   text        NOT NULL,
    owner   text        NOT NULL,
    action  text        NOT NULL,
    subject text        NOT NULL,
    job_id  uuid,
    before  bytea,
    after   bytea,
    digest  bytea
);
CREATE INDEX audit_job ON audit (job_id, number) WHERE job_id IS NOT NULL;
CREATE INDEX audit_unchained ON audit (number) WHERE digest IS NULL;

CREATE TABLE api_key (
    id           uuid        NOT NULL PRIMARY KEY,
    digest       bytea       NOT NULL UNIQUE,
    owner        text        NOT NULL,
    name         text        NOT NULL,
    scope        text        NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);

-- Jobs from inside somebody's own transaction: there when it commits, never there if it doesn't. Items are what
-- `mainspring.postgres.add` composes; bytes in them are base64. Answers created, existing or conflict, in their order.
CREATE FUNCTION enqueue(items jsonb, wake boolean) RETURNS TABLE (place bigint, id uuid, answer text)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    item  record;
    lane_ text;
    known record;
    added uuid[] := '{}';
    standing boolean := false;
BEGIN
    FOR item IN
        SELECT number AS place, fields.*, decode(fields.body, 'base64') AS digest, decode(fields.data, 'base64') AS bytes
        FROM jsonb_array_elements(items) WITH ORDINALITY AS each (value, number), jsonb_to_record(value) AS fields (
            id uuid, owner text, project text, name text, key text, body text, handler text, lane text,
            unknown boolean, priority smallint, timeout interval, retry text, data text, blob text, spec text, due_at timestamptz,
            delay interval, terms text, state smallint, next_fire_at timestamptz, wake_at timestamptz)
        ORDER BY number
    LOOP
        lane_ := (SELECT lane FROM handler WHERE name = item.handler);
        IF lane_ IS NULL AND NOT item.unknown THEN
            RAISE EXCEPTION 'no worker has ever registered the handler %', quote_literal(item.handler)
                USING ERRCODE = 'MSH01', HINT = 'Start one, or set allow_unknown_handler.';
        END IF;
        lane_ := coalesce(item.lane, lane_, 'default');
        IF item.key IS NOT NULL THEN
            INSERT INTO idempotency (owner, key, id, body) VALUES (item.owner, item.key, item.id, item.digest) ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                SELECT i.id, i.body = item.digest AS same INTO known FROM idempotency i WHERE i.owner = item.owner AND i.key = item.key;
                RETURN QUERY SELECT item.place, known.id, CASE WHEN known.same THEN 'existing' ELSE 'conflict' END;
                CONTINUE;
            END IF;
        END IF;
        IF item.blob IS NOT NULL THEN
            INSERT INTO blob (id, data) VALUES (item.blob, item.bytes) ON CONFLICT (id) DO UPDATE SET at = now();
            item.bytes := '';
        END IF;
        IF item.terms IS NULL THEN
            INSERT INTO queue (id, job_id, owner, project, name, key, spec, kind, handler, lane, priority, timeout, retry, payload, blob, due_at, wake_at)
            SELECT item.id, item.id, item.owner, item.project, item.name, item.key, decode(item.spec, 'base64'),
                   CASE WHEN due > now() THEN 1 ELSE 0 END, item.handler, lane_, item.priority, item.timeout, item.retry,
                   item.bytes, item.blob, due, due
            FROM coalesce(item.due_at, now() + item.delay) AS due;
            added := added || item.id;
        ELSE
            INSERT INTO job (id, owner, project, name, key, state, version, terms, handler, lane, priority, timeout, retry, payload, blob,
                             created_at, updated_at, next_fire_at, wake_at)
            VALUES (item.id, item.owner, item.project, item.name, item.key, item.state, 1, decode(item.terms, 'base64'), item.handler, lane_,
                    item.priority, item.timeout, item.retry, item.bytes, item.blob, now(), now(), item.next_fire_at, item.wake_at);
            standing := true;
        END IF;
        RETURN QUERY SELECT item.place, item.id, 'created';
    END LOOP;
    INSERT INTO tally (owner, lane, kind, what, amount, ids)
    SELECT owner, lane, kind, 'added', count(*), array_agg(q.id) FROM queue q WHERE q.id = ANY (added) GROUP BY owner, lane, kind;
    IF wake THEN
        -- As signals.py writes them: who tells, then the topic. They go out as the transaction commits.
        PERFORM pg_notify('mainspring_' || current_schema(), 'transaction' || chr(31) || topic)
        FROM (SELECT DISTINCT 'work/' || q.lane FROM queue q WHERE q.id = ANY (added) AND q.wake_at <= now() + interval '1 second'
              UNION ALL SELECT 'timetable' WHERE standing) AS topics (topic)
        WHERE length(current_schema()) <= 52;
    END IF;
END
$$;

-- A handler's success from inside its own transaction, so that the effect and the outcome are one. False if the run is no
-- longer in the hands of whoever has that fence: then the transaction must be rolled back.
CREATE FUNCTION succeed(run uuid, held integer, answer bytea, answer_blob text) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    ended queue;
BEGIN
    DELETE FROM queue WHERE id = run AND fence = held RETURNING * INTO ended;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF answer_blob IS NOT NULL THEN
        INSERT INTO blob (id, data) VALUES (answer_blob, answer) ON CONFLICT (id) DO UPDATE SET at = now();
        answer := NULL;
    END IF;
    INSERT INTO history (id, job_id, origin, due_at, created_at, started_at, finished_at, timeout, fence, version, attempt, failures, losses,
                         state, kind, priority, owner, project, name, lane, handler, key, spec, retry, payload, blob, worker,
                         result, result_blob, log)
    VALUES (ended.id, ended.job_id, ended.origin, ended.due_at, ended.created_at, ended.started_at, clock_timestamp(), ended.timeout,
            ended.fence, ended.version, ended.attempt, ended.failures, ended.losses, 2, ended.kind, ended.priority, ended.owner,
            ended.project, ended.name, ended.lane, ended.handler, ended.key, ended.spec, ended.retry, ended.payload, ended.blob,
            ended.worker, answer, answer_blob, ended.log);
    INSERT INTO tally (owner, lane, kind, what, amount, ids)
    VALUES (ended.owner, ended.lane, ended.kind, 'succeeded', 1, ARRAY[ended.id]);
    RETURN true;
END
$$;
