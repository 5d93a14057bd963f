"""Forgetting blobs that nothing names any more.

Whatever names a blob lists itself first, and whoever puts one writes all of it anew: so a blob of some age whose users
are all gone can be removed as it was at that age, and one that somebody is just about to name outlives it.
"""

from uuid import UUID

from mainspring.adapters.cassandra.blobs import age_of
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.jobs import find_job
from mainspring.adapters.cassandra.layout import SHARDS
from mainspring.adapters.cassandra.rows import ALL, Row, Span, only
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.tables import BLOB_AGE, BLOB_CHUNK, BLOB_USE
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.job import JobState

_CHUNK = 100


async def forget_blobs(context: Context, cut: int, limit: int) -> int:
    """Forget at most so many blobs that were last put, or found in use, by *cut*; return how many were."""
    forgotten = 0
    for shard in range(SHARDS):
        if forgotten < limit:
            old = await context.rows.slice(BLOB_AGE, (shard,), Span(last=(cut,)), limit=limit - forgotten)
            for entry in old:
                forgotten += await _forget(context, entry, cut)
    return forgotten


async def _forget(context: Context, entry: Row, cut: int) -> int:
    blob_id = text(entry, "id")
    used = await _is_used(context, blob_id, cut)
    if used:
        await context.rows.put([age_of(blob_id, context.now())])  # in use now: it needn't be asked about for a while
    else:
        await context.rows.delete_range(BLOB_CHUNK, (blob_id,), until=cut)
    await context.rows.delete_range(BLOB_AGE, (entry["shard"],), only((entry["at"], blob_id)))
    return 0 if used else 1


async def _is_used(context: Context, blob_id: str, cut: int) -> bool:
    span = ALL
    while users := await context.rows.slice(BLOB_USE, (blob_id,), span, limit=_CHUNK):
        for user in users:
            if number(user, "at") > cut or await _names(context, identity(user, "user"), blob_id):
                return True
            await context.rows.delete_range(BLOB_USE, (blob_id,), only((user["user"],)), until=cut)
        span = Span(after=(users[-1]["user"],))
    return False


async def _names(context: Context, user: UUID, blob_id: str) -> bool:
    """Whether a job that may fire, or a run that is still there, has the blob as its payload or result."""
    stored = await find_job(context, user)
    if stored is not None:
        return stored.job.state is not JobState.DELETED and stored.job.task.blob == blob_id
    row = (await read(context, [user])).get(user)
    return row is not None and blob_id in (row["blob"], row["result_blob"])
