-- Instants and durations are integers in microseconds; ids are the 16 bytes of a UUID, so that they sort by time.
-- What users gave as JSON (payload, spec, result) is kept as the bytes of its text.

-- Standing jobs: recurring and on demand. A one-shot job is a row of `queue`, later of `history`.
-- `changed` numbers additions and edits in their order, the latest of each job, for whoever follows them.
CREATE TABLE job (
    id           BLOB    NOT NULL PRIMARY KEY,
    owner        TEXT    NOT NULL,
    project      TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    key          TEXT,
    state        INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    terms        BLOB    NOT NULL,
    handler      TEXT    NOT NULL,
    lane         TEXT    NOT NULL,
    priority     INTEGER NOT NULL,
    timeout      INTEGER NOT NULL,
    retry        TEXT,
    payload      BLOB    NOT NULL,
    blob         TEXT,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    next_fire_at INTEGER,
    wake_at      INTEGER,
    active_run   BLOB,
    changed      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX job_changed ON job (changed);
CREATE INDEX job_wake ON job (wake_at) WHERE state = 0 AND wake_at IS NOT NULL;
CREATE INDEX job_blob ON job (blob) WHERE blob IS NOT NULL;

-- Live runs only. `wake_at` of a held run is moved far away (see rows.HELD) and back when it is released.
-- `settled` is the fence of the last hand-over that was settled, which tells a repeated verdict from a stale one.
-- Numbers are never used again, so that whoever follows the additions can go on from the last one it saw; a run that
-- is held, released or edited gets a new one.
-- `worker` is the name of the holder, or of the last one while the run waits: its late result may still count.
CREATE TABLE queue (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          BLOB    NOT NULL UNIQUE,
    job_id      BLOB    NOT NULL,
    origin      BLOB,
    owner       TEXT    NOT NULL,
    project     TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    key         TEXT,
    spec        BLOB,
    kind        INTEGER NOT NULL,
    handler     TEXT    NOT NULL,
    lane        TEXT    NOT NULL,
    priority    INTEGER NOT NULL,
    timeout     INTEGER NOT NULL,
    retry       TEXT,
    payload     BLOB    NOT NULL,
    blob        TEXT,
    created_at  INTEGER NOT NULL,
    version     INTEGER NOT NULL DEFAULT 1,
    due_at      INTEGER NOT NULL,
    wake_at     INTEGER NOT NULL,
    state       INTEGER NOT NULL DEFAULT 0,
    fence       INTEGER NOT NULL DEFAULT 0,
    settled     INTEGER NOT NULL DEFAULT 0,
    attempt     INTEGER NOT NULL DEFAULT 0,
    failures    INTEGER NOT NULL DEFAULT 0,
    losses      INTEGER NOT NULL DEFAULT 0,
    session     INTEGER,
    worker      TEXT,
    started_at  INTEGER,
    deadline_at INTEGER,
    cancel      TEXT,
    error       TEXT,
    reason      TEXT,
    log         TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX queue_claim ON queue (lane, priority DESC, wake_at) WHERE state = 0;
CREATE INDEX queue_session ON queue (session) WHERE state = 1;
CREATE INDEX queue_job ON queue (job_id, id) WHERE job_id <> id;
CREATE INDEX queue_blob ON queue (blob) WHERE blob IS NOT NULL;

-- Ended runs and skipped ranges, append-only; `seq` follows the order of ending, so that pruning needs no index, and
-- is never used again, so that whoever follows the ends can go on from the last one it saw.
CREATE TABLE history (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            BLOB    NOT NULL UNIQUE,
    job_id        BLOB    NOT NULL,
    origin        BLOB,
    owner         TEXT    NOT NULL,
    project       TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    key           TEXT,
    spec          BLOB,
    kind          INTEGER NOT NULL,
    handler       TEXT    NOT NULL,
    lane          TEXT    NOT NULL,
    priority      INTEGER NOT NULL,
    timeout       INTEGER NOT NULL,
    retry         TEXT,
    payload       BLOB    NOT NULL,
    blob          TEXT,
    created_at    INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    state         INTEGER NOT NULL,
    fence         INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    failures      INTEGER NOT NULL,
    losses        INTEGER NOT NULL,
    worker        TEXT,
    started_at    INTEGER,
    finished_at   INTEGER NOT NULL,
    result        BLOB,
    result_blob   TEXT,
    error         TEXT,
    reason        TEXT,
    log           TEXT    NOT NULL,
    skipped_to    INTEGER,
    skipped_count INTEGER
) STRICT;
CREATE INDEX history_job ON history (job_id, id) WHERE job_id <> id;
CREATE INDEX history_blob ON history (blob) WHERE blob IS NOT NULL;
CREATE INDEX history_result ON history (result_blob) WHERE result_blob IS NOT NULL;

-- Runs whose budget is used up, until somebody requeues or discards them.
CREATE TABLE dead_letter (
    run_id      BLOB    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL,
    job_id      BLOB    NOT NULL,
    handler     TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    died_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Ended one-shot jobs that somebody deleted.
CREATE TABLE hidden (
    id BLOB NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    owner       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    id          BLOB    NOT NULL,
    body        BLOB    NOT NULL,
    accepted_at INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (accepted_at);

-- state: 0 alive, 1 ended.
CREATE TABLE session (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    role       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    host       TEXT    NOT NULL,
    pid        INTEGER NOT NULL,
    capacity   INTEGER NOT NULL,
    lanes      TEXT    NOT NULL,
    ttl        INTEGER NOT NULL,
    state      INTEGER NOT NULL DEFAULT 0,
    opened_at  INTEGER NOT NULL,
    beat_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    executing  INTEGER NOT NULL DEFAULT 0,
    skew       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX session_alive ON session (expires_at) WHERE state = 0;

-- Every handler that a worker ever served: never forgotten.
CREATE TABLE handler (
    name TEXT NOT NULL PRIMARY KEY,
    lane TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Named locks. Rows are never deleted: a fence must not begin again.
CREATE TABLE lock (
    name       TEXT    NOT NULL PRIMARY KEY,
    holder     TEXT    NOT NULL,
    fence      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE blob (
    id   TEXT    NOT NULL PRIMARY KEY,
    at   INTEGER NOT NULL,
    data BLOB    NOT NULL
) STRICT;

CREATE TABLE output (
    run_id   BLOB    NOT NULL,
    fence    INTEGER NOT NULL,
    head     BLOB    NOT NULL,
    tail     BLOB    NOT NULL,
    length   INTEGER NOT NULL,
    progress REAL,
    message  TEXT,
    PRIMARY KEY (run_id, fence)
) STRICT;

-- Totals since the store began. There is one writer, so that adding up at once costs nothing.
CREATE TABLE total (
    owner  TEXT    NOT NULL,
    lane   TEXT    NOT NULL,
    kind   INTEGER NOT NULL,
    what   TEXT    NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (owner, lane, kind, what)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    job_id  BLOB,
    before  BLOB,
    after   BLOB,
    digest  BLOB
) STRICT;
CREATE INDEX audit_job ON audit (job_id, number) WHERE job_id IS NOT NULL;
CREATE INDEX audit_unchained ON audit (number) WHERE digest IS NULL;

CREATE TABLE api_key (
    id           BLOB    NOT NULL PRIMARY KEY,
    digest       BLOB    NOT NULL UNIQUE,
    owner        TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    scope        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
) STRICT;
