"""The tables. The truth about a run lies in its home partition, that about a job in its row; the rest are indexes.

A home partition holds the runs of one shard whose ids carry the same minute: (shard, slot) follows from the id alone.
"""

from datetime import timedelta
from types import MappingProxyType
from typing import Final

from mainspring.adapters.cassandra.table import Kind, Table

BIGINT, BLOB, BOOLEAN, DOUBLE, INT, TEXT, UUID = (
    Kind.BIGINT,
    Kind.BLOB,
    Kind.BOOLEAN,
    Kind.DOUBLE,
    Kind.INT,
    Kind.TEXT,
    Kind.UUID,
)

_TASK = MappingProxyType(
    {
        "handler": TEXT,
        "lane": TEXT,
        "priority": INT,
        "timeout": BIGINT,
        "retry": TEXT,
        "payload": BLOB,
        "blob": TEXT,
    }
)
_INDEX_LIFETIME = timedelta(days=7)

RUN: Final = Table(
    name="run",
    comment="Runs, live and ended; a run that is a job of its own (id = job_id) is that job too. `body` has what it "
    "executes, and for whom; the columns of that are from before.",
    partition={"shard": INT, "slot": BIGINT},
    clustering={"id": UUID},
    columns={
        "job_id": UUID,
        "origin": UUID,
        "owner": TEXT,
        "project": TEXT,
        "key": TEXT,
        "kind": INT,
        "created_at": BIGINT,
        **_TASK,
        "name": TEXT,
        "spec": BLOB,
        "due_at": BIGINT,
        "state": INT,
        "wake_at": BIGINT,
        "indexed_at": BIGINT,
        "held_wake": BIGINT,
        "version": INT,
        "fence": INT,
        "ticket": INT,
        "taker": BIGINT,
        "settled": INT,
        "session": BIGINT,
        "worker": TEXT,
        "attempt": INT,
        "failures": INT,
        "losses": INT,
        "started_at": BIGINT,
        "deadline_at": BIGINT,
        "finished_at": BIGINT,
        "cancel": TEXT,
        "hidden": BOOLEAN,
        "result": BLOB,
        "result_blob": TEXT,
        "error": TEXT,
        "reason": TEXT,
        "skipped_to": BIGINT,
        "skipped_count": BIGINT,
        "log": BLOB,
        "body": BLOB,
    },
    conditional=frozenset(
        {
            *_TASK,
            "name",
            "spec",
            "due_at",
            "state",
            "wake_at",
            "indexed_at",
            "held_wake",
            "version",
            "fence",
            "ticket",
            "taker",
            "settled",
            "session",
            "worker",
            "attempt",
            "failures",
            "losses",
            "started_at",
            "deadline_at",
            "finished_at",
            "cancel",
            "hidden",
            "result",
            "result_blob",
            "error",
            "reason",
            "log",
            "body",
        }
    ),
)

SLOT: Final = Table(
    name="slot",
    comment="Index: minutes in which a shard has runs; written before the first of them.",
    partition={"shard": INT},
    clustering={"slot": BIGINT},
    columns={},
)

DUE: Final = Table(
    name="due",
    comment="Index: waiting runs by when they wake, or were written if that was later; `since` is the wake time, "
    "`copy` the body of a small new run.",
    partition={"shard": INT, "lane": TEXT, "slot": BIGINT},
    clustering={"wake_at": BIGINT, "id": UUID, "fence": INT},
    columns={"priority": INT, "owner": TEXT, "since": BIGINT, "ticketed": BOOLEAN, "copy": BLOB},
)

DUE_SLOT: Final = Table(
    name="due_slot",
    comment="Index: minutes in which a lane has runs that wake, and where; written before the first of them.",
    partition={"lane": TEXT},
    clustering={"slot": BIGINT, "shard": INT},
    columns={},
)

REVISIT: Final = Table(
    name="revisit",
    comment="Index: homes to audit, by the minute in which to; one some minutes after each wake time of their runs.",
    partition={"shard": INT},
    clustering={"at": BIGINT, "slot": BIGINT},
    columns={},
)

JOB: Final = Table(
    name="job",
    comment="Standing jobs: recurring and on demand.",
    partition={"id": UUID},
    clustering={},
    columns={
        "owner": TEXT,
        "project": TEXT,
        "key": TEXT,
        "created_at": BIGINT,
        "name": TEXT,
        **_TASK,
        "terms": BLOB,
        "state": INT,
        "version": INT,
        "updated_at": BIGINT,
        "next_fire_at": BIGINT,
        "wake_at": BIGINT,
        "entry_at": BIGINT,
        "active_run": UUID,
        "firing": BLOB,
    },
    conditional=frozenset(
        {
            "owner",
            "project",
            "key",
            "created_at",
            "name",
            *_TASK,
            "terms",
            "state",
            "version",
            "updated_at",
            "next_fire_at",
            "wake_at",
            "entry_at",
            "active_run",
            "firing",
        }
    ),
)

TIMETABLE: Final = Table(
    name="timetable",
    comment="Index: jobs by the instant at which the planner must look, which is never before the one of writing.",
    partition={"part": INT, "slot": BIGINT},
    clustering={"entry_at": BIGINT, "job_id": UUID, "version": INT},
    columns={},
)

TIMETABLE_SLOT: Final = Table(
    name="timetable_slot",
    comment="Index: minutes in which there are jobs to look at; all in one partition, so that looking is one read.",
    partition={"everything": INT},
    clustering={"slot": BIGINT, "part": INT},
    columns={},
)

SESSION: Final = Table(
    name="session",
    comment="Lives of processes.",
    partition={"id": BIGINT},
    clustering={},
    columns={
        "role": TEXT,
        "name": TEXT,
        "host": TEXT,
        "pid": INT,
        "capacity": INT,
        "lanes": TEXT,
        "ttl": BIGINT,
        "opened_at": BIGINT,
        "state": INT,
        "beat_at": BIGINT,
        "expires_at": BIGINT,
        "executing": INT,
        "skew": BIGINT,
        "ended_at": BIGINT,
        "draining": BOOLEAN,
        "drained": BOOLEAN,
        "trouble": TEXT,
    },
    conditional=frozenset(
        {"state", "beat_at", "expires_at", "executing", "skew", "ended_at", "draining", "drained", "trouble"},
    ),
)

SESSION_OF: Final = Table(
    name="session_of",
    comment="Index: sessions that have not been forgotten, by role, as they were at their last heartbeat.",
    partition={"role": TEXT},
    clustering={"id": BIGINT},
    columns={
        "name": TEXT,
        "host": TEXT,
        "pid": INT,
        "capacity": INT,
        "lanes": TEXT,
        "opened_at": BIGINT,
        "beat_at": BIGINT,
        "expires_at": BIGINT,
        "executing": INT,
        "skew": BIGINT,
        "draining": BOOLEAN,
        "drained": BOOLEAN,
        "trouble": TEXT,
    },
)

CLAIM_INTENT: Final = Table(
    name="claim_intent",
    comment="Runs that a session is about to claim, so that it holds none unknown; removed once they are settled.",
    partition={"session": BIGINT},
    clustering={"number": BIGINT},
    columns={"runs": BLOB},
)

HANDLER: Final = Table(
    name="handler",
    comment="Every handler that a worker ever served.",
    partition={"everything": INT},
    clustering={"name": TEXT},
    columns={"lane": TEXT},
)

IDEMPOTENCY: Final = Table(
    name="idempotency",
    comment="Clients' keys, with what was stored for each.",
    partition={"owner": TEXT, "key": TEXT},
    clustering={},
    columns={"id": UUID, "body": BLOB, "accepted_at": BIGINT},
    conditional=frozenset({"id", "body", "accepted_at"}),
)

LOCK: Final = Table(
    name="lock",
    comment="Named locks. Rows are never removed: a fence must not begin again.",
    partition={"name": TEXT},
    clustering={},
    columns={"holder": TEXT, "fence": BIGINT, "expires_at": BIGINT},
    conditional=frozenset({"holder", "fence", "expires_at"}),
)

LOCK_END: Final = Table(
    name="lock_end",
    comment="Index: an owner's locks by when they end, or were to end before they were renewed or given up.",
    partition={"owner": TEXT, "hour": BIGINT},
    clustering={"expires_at": BIGINT, "name": TEXT},
    columns={},
    lifetime=_INDEX_LIFETIME,
)

RUN_BY_OWNER: Final = Table(
    name="run_by_owner",
    comment="Index: an owner's runs by the month of their ids.",
    partition={"owner": TEXT, "month": INT},
    clustering={"id": UUID},
    columns={"one_shot": BOOLEAN},
)

RUN_BY_JOB: Final = Table(
    name="run_by_job",
    comment="Index: the runs of a standing job by the month of their ids.",
    partition={"job_id": UUID, "month": INT},
    clustering={"id": UUID},
    columns={},
)

JOB_BY_OWNER: Final = Table(
    name="job_by_owner",
    comment="Index: an owner's standing jobs, deleted ones included.",
    partition={"owner": TEXT},
    clustering={"id": UUID},
    columns={},
)

OWNER: Final = Table(
    name="owner",
    comment="Index: every owner that ever stored anything, with the months in which there are runs.",
    partition={"everything": INT},
    clustering={"owner": TEXT, "month": INT},
    columns={},
)

DEAD: Final = Table(
    name="dead",
    comment="Index: dead letters by owner and the month of their ids; what was resolved is marked, not removed.",
    partition={"owner": TEXT, "month": INT},
    clustering={"id": UUID},
    columns={"job_id": UUID, "handler": TEXT, "fingerprint": TEXT, "died_at": BIGINT, "resolved": BOOLEAN},
)

CHANGE: Final = Table(
    name="change",
    comment="What has changed, minute by minute, for whoever follows; `others` are entries of the same owner and time.",
    partition={"slot": BIGINT, "part": INT},
    clustering={"at": BIGINT, "id": UUID, "fence": INT},
    columns={"standing": BOOLEAN, "owner": TEXT, "job_id": UUID, "state": INT, "others": BLOB},
    lifetime=timedelta(hours=2),
)

TALLY: Final = Table(
    name="tally",
    comment="What processes have done, page by page, each overwritten as its process goes on; in parts by owner.",
    partition={"part": INT},
    clustering={"process": UUID, "owner": TEXT, "lane": TEXT, "kind": INT},
    columns={"figures": TEXT, "at": BIGINT},
)

TOTAL: Final = Table(
    name="total",
    comment="Tallies that nobody goes on with, added up; `folded` names those that may not be removed yet.",
    partition={"everything": INT},
    clustering={"owner": TEXT, "lane": TEXT, "kind": INT},
    columns={"figures": TEXT, "folded": TEXT},
    conditional=frozenset({"figures", "folded"}),
)

BLOB_CHUNK: Final = Table(
    name="blob",
    comment="Large payloads and results in pieces, by the hash of the whole.",
    partition={"id": TEXT},
    clustering={"chunk": INT},
    columns={"data": BLOB, "chunks": INT},
)

BLOB_AGE: Final = Table(
    name="blob_age",
    comment="Index: blobs by when they were last put, or found in use; written before the blob.",
    partition={"shard": INT},
    clustering={"at": BIGINT, "id": TEXT},
    columns={},
)

BLOB_USE: Final = Table(
    name="blob_use",
    comment="Index: runs and jobs that name a blob; written before they do.",
    partition={"blob": TEXT},
    clustering={"user": UUID},
    columns={"at": BIGINT},
)

OUTPUT: Final = Table(
    name="output",
    comment="What runs printed, per fence.",
    partition={"run_id": UUID},
    clustering={"fence": INT},
    columns={"head": BLOB, "tail": BLOB, "length": BIGINT, "progress": DOUBLE, "message": TEXT, "at": BIGINT},
    lifetime=timedelta(days=30),
)

API_KEY: Final = Table(
    name="api_key",
    comment="API keys by digest; a handful.",
    partition={"everything": INT},
    clustering={"id": UUID},
    columns={
        "digest": BLOB,
        "owner": TEXT,
        "name": TEXT,
        "scope": TEXT,
        "created_at": BIGINT,
        "expires_at": BIGINT,
        "revoked_at": BIGINT,
        "last_used_at": BIGINT,
    },
)

AUDIT: Final = Table(
    name="audit",
    comment="Who did what; numbered by conditional insert, chained by hash afterwards.",
    partition={"part": BIGINT},
    clustering={"number": BIGINT},
    columns={
        "at": BIGINT,
        "actor": TEXT,
        "owner": TEXT,
        "action": TEXT,
        "subject": TEXT,
        "job_id": UUID,
        "before": BLOB,
        "after": BLOB,
        "writer": UUID,
        "digest": BLOB,
    },
    conditional=frozenset(
        {"at", "actor", "owner", "action", "subject", "job_id", "before", "after", "writer", "digest"}
    ),
)

AUDIT_OF: Final = Table(
    name="audit_of",
    comment="Index: numbers of what was done by an owner or to a job; written before it, and now and then in vain.",
    partition={"about": TEXT, "part": BIGINT},
    clustering={"number": BIGINT},
    columns={},
)

SETTING: Final = Table(
    name="setting",
    comment="What every process must agree on: the schema's version, the number of shards, how far upkeep has come.",
    partition={"name": TEXT},
    clustering={},
    columns={"value": TEXT},
    conditional=frozenset({"value"}),
)

SIGNAL: Final = Table(
    name="signal",
    comment="The latest notification of each topic; read whole by polling, so in one partition.",
    partition={"everything": INT},
    clustering={"topic": TEXT},
    columns={"stamp": BIGINT},
)

TABLES: Final = (
    RUN,
    SLOT,
    DUE,
    DUE_SLOT,
    REVISIT,
    JOB,
    TIMETABLE,
    TIMETABLE_SLOT,
    SESSION,
    SESSION_OF,
    CLAIM_INTENT,
    HANDLER,
    IDEMPOTENCY,
    LOCK,
    LOCK_END,
    RUN_BY_OWNER,
    RUN_BY_JOB,
    JOB_BY_OWNER,
    OWNER,
    DEAD,
    CHANGE,
    TALLY,
    TOTAL,
    BLOB_CHUNK,
    BLOB_AGE,
    BLOB_USE,
    OUTPUT,
    API_KEY,
    AUDIT,
    AUDIT_OF,
    SETTING,
    SIGNAL,
)
