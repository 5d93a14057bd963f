# Written by scripts/write_blocking.py from src/mainspring/client/asynchronous/cluster.py. Don't edit.
"""Calls about the cluster as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

from mainspring.client.blocking.calls import Calls
from mainspring.client.models import AuditEntry, HeldLock, Job, Worker
from mainspring.client.reading import read, read_instant
from mainspring.client.requests import query

_AWAY = frozenset({503})


class ClusterCalls(Calls):
    """Workers, health, figures, schedules, locks and the audit."""

    def workers(self) -> Sequence[Worker]:
        """The live workers."""
        return [read(Worker, each) for each in self._items(self._connection.get("/workers"))]

    def drain_worker(self, name: str) -> Worker:
        """Let a worker take no more work, while its process goes on; NotFound if none of that name is alive."""
        return read(Worker, self._connection.post(f"/workers/{quote(name)}/drain"))

    def resume_worker(self, name: str) -> Worker:
        """Let a worker take work again."""
        return read(Worker, self._connection.post(f"/workers/{quote(name)}/resume"))

    def health(self) -> Mapping[str, Any]:
        """What the server says about itself, also when its store is away; asked once, without patience."""
        answer: Mapping[str, Any] = self._connection.ask_once("/health", _AWAY)
        return answer

    def metrics(self) -> Mapping[str, Any]:
        """Totals and gauges of the cluster."""
        answer: Mapping[str, Any] = self._connection.get("/metrics")
        return answer

    def execution_metrics(self, *, window: str | None = None) -> Mapping[str, Any]:
        """Statistics of the executions of late."""
        answer: Mapping[str, Any] = self._connection.get("/metrics/executions", query(window=window))
        return answer

    def preview(self, schedule: str, *, timezone: str | None = None, count: int | None = None) -> Sequence[datetime]:
        """The next moments of a schedule; Invalid says what is wrong with it."""
        asked = {"schedule": schedule, "timezone": timezone, "count": count}
        body = {name: value for name, value in asked.items() if value is not None}
        return [read_instant(each) for each in self._items(self._connection.post("/schedules/preview", body))]

    def audit(self, *, job: Job | UUID | str | None = None, limit: int | None = None) -> Iterator[AuditEntry]:
        """Who changed what, newest first, at most *limit*."""
        job_id = job.id if isinstance(job, Job) else job
        for each in self._pages("/audit", query(job_id=job_id), limit):
            yield read(AuditEntry, each)

    def held_lock(self, name: str) -> HeldLock:
        """Who holds the lock; NotFound if nobody does."""
        return read(HeldLock, self._connection.get(f"/locks/{quote(name, safe='')}"))

    def held_locks(self, *, limit: int | None = None) -> Iterator[HeldLock]:
        """The caller's locks that are held, those first that end first, at most *limit*."""
        for each in self._pages("/locks", {}, limit):
            yield read(HeldLock, each)
