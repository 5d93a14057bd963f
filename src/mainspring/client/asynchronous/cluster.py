"""Calls about the cluster as a whole."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

from mainspring.client.asynchronous.calls import Calls
from mainspring.client.models import AuditEntry, HeldLock, Job, Worker
from mainspring.client.reading import read, read_instant
from mainspring.client.requests import query

_AWAY = frozenset({503})


class ClusterCalls(Calls):
    """Workers, health, figures, schedules, locks and the audit."""

    async def workers(self) -> Sequence[Worker]:
        """The live workers."""
        return [read(Worker, each) for each in self._items(await self._connection.get("/workers"))]

    async def drain_worker(self, name: str) -> Worker:
        """Let a worker take no more work, while its process goes on; NotFound if none of that name is alive."""
        return read(Worker, await self._connection.post(f"/workers/{quote(name)}/drain"))

    async def resume_worker(self, name: str) -> Worker:
        """Let a worker take work again."""
        return read(Worker, await self._connection.post(f"/workers/{quote(name)}/resume"))

    async def health(self) -> Mapping[str, Any]:
        """What the server says about itself, also when its store is away; asked once, without patience."""
        answer: Mapping[str, Any] = await self._connection.ask_once("/health", _AWAY)
        return answer

    async def metrics(self) -> Mapping[str, Any]:
        """Totals and gauges of the cluster."""
        answer: Mapping[str, Any] = await self._connection.get("/metrics")
        return answer

    async def execution_metrics(self, *, window: str | None = None) -> Mapping[str, Any]:
        """Statistics of the executions of late."""
        answer: Mapping[str, Any] = await self._connection.get("/metrics/executions", query(window=window))
        return answer

    async def preview(
        self, schedule: str, *, timezone: str | None = None, count: int | None = None
    ) -> Sequence[datetime]:
        """The next moments of a schedule; Invalid says what is wrong with it."""
        asked = {"schedule": schedule, "timezone": timezone, "count": count}
        body = {name: value for name, value in asked.items() if value is not None}
        return [read_instant(each) for each in self._items(await self._connection.post("/schedules/preview", body))]

    async def audit(
        self, *, job: Job | UUID | str | None = None, limit: int | None = None
    ) -> AsyncIterator[AuditEntry]:
        """Who changed what, newest first, at most *limit*."""
        job_id = job.id if isinstance(job, Job) else job
        async for each in self._pages("/audit", query(job_id=job_id), limit):
            yield read(AuditEntry, each)

    async def held_lock(self, name: str) -> HeldLock:
        """Who holds the lock; NotFound if nobody does."""
        return read(HeldLock, await self._connection.get(f"/locks/{quote(name, safe='')}"))

    async def held_locks(self, *, limit: int | None = None) -> AsyncIterator[HeldLock]:
        """The caller's locks that are held, those first that end first, at most *limit*."""
        async for each in self._pages("/locks", {}, limit):
            yield read(HeldLock, each)
