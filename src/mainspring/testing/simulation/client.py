"""A client that insists: it repeats what got no answer, under the same identity, and notes what it was told."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from random import Random
from typing import Any

from mainspring.domain.ids import JobId
from mainspring.domain.job import Job
from mainspring.domain.plan import Skip
from mainspring.errors import Conflict, NotFound, StoreError
from mainspring.testing.simulation.history import Answered
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.roles import Surroundings

_TRIES = 5
_NEAR = 5.0

Change = Callable[[Job, datetime], tuple[Job, Sequence[Skip]]]


class GaveUp(Exception):
    """The store didn't answer for so long that the client went on with something else."""


class Client:
    """Speaks to the store's ports from a process of its own."""

    def __init__(self, process: Process, around: Surroundings) -> None:
        self._process = process
        self._around = around
        self._ports: dict[str, Any] = {}
        self._signals = around.sender(process)

    @property
    def random(self) -> Random:
        """The client's own stream of chance."""
        return self._process.random

    async def ask(self, verb: str, *arguments: Any, **options: Any) -> Any:
        """Call a verb until it is answered, or give up."""
        port, _, name = verb.partition(".")
        remote = self._ports.setdefault(port, self._around.port(self._process, port))
        for attempt in range(_TRIES):
            try:
                answer = await getattr(remote, name)(*arguments, **options)
            except StoreError:
                await asyncio.sleep(self.random.random() * 2**attempt / 2)
            else:
                self._process.history.record(
                    Answered(self._process.universe.time, self._process.label, verb, arguments, answer)
                )
                return answer
        raise GaveUp

    async def notify(self, topics: Sequence[str]) -> None:
        """Tell the others, as the API does after it has stored something."""
        await self._signals.notify(topics)

    async def change(self, job_id: JobId, change: Change) -> None:
        """Read a standing job, change it, save it; from the beginning if somebody was faster."""
        await self._approach(job_id)
        for _ in range(_TRIES):
            record = await self.ask("views.job", job_id)
            if record is None:
                return
            now = await self.ask("views.now")
            changed, skips = change(record.job, now)
            if changed == record.job:
                return
            try:
                await self.ask("timetable.save", changed, record.job, skips)
            except NotFound:
                return
            except Conflict:
                continue
            return

    async def _approach(self, job_id: JobId) -> None:
        """Wait, every other time, for the job's next moment: that is when a change can do most harm."""
        record = await self.ask("views.job", job_id)
        if record is None or record.job.next_fire_at is None or self.random.random() < 0.5:
            return
        wait = (record.job.next_fire_at - await self.ask("views.now")).total_seconds()
        if wait < _NEAR:
            # Three trips follow before the change arrives, each as slow as the weather.
            await asyncio.sleep(max(wait - self.random.random() ** 4, 0.0))
