"""Traces of one process, and what the store does as spans. Nothing of it is loaded where nobody asked for traces."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta

from mainspring.domain.job import NewJob
from mainspring.domain.plan import Advance
from mainspring.domain.run import NewRun
from mainspring.errors import ConfigurationError
from mainspring.ports.time import Clock
from mainspring.ports.timetable import Timetable
from mainspring.ports.tracing import Kind, Tracing
from mainspring.ports.work import Added, Note, Work
from mainspring.wiring.forwarding import ForwardingTimetable, ForwardingWork
from mainspring.wiring.measuring import MeasuredStore


async def open_tracing(service: str, closing: AsyncExitStack) -> Tracing:
    """Tracing to where the environment says, under the name *service* unless it says another."""
    try:
        from mainspring.adapters.opentelemetry.provider import exporting  # noqa: PLC0415 - imported when asked for
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"traces need their extra: pip install 'mainspring[tracing]' (no module {error.name!r})"
        ) from error
    return await closing.enter_async_context(exporting(service))


def traced_store(store: MeasuredStore, tracing: Tracing, clock: Clock) -> MeasuredStore:
    """The same store, with what it does as spans."""
    return replace(
        store,
        work=TracedWork(store.work, tracing, clock),
        timetable=TracedTimetable(store.timetable, tracing, clock),
    )


class TracedWork(ForwardingWork):
    """`Work` that tells each trace among the runs of a batch how long the store took to add them."""

    def __init__(self, work: Work, tracing: Tracing, clock: Clock) -> None:
        super().__init__(work)
        self._tracing = tracing
        self._clock = clock

    async def add(
        self, items: Sequence[NewRun | NewJob], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        """As `Work.add`."""
        began = self._clock.now()
        answers = await super().add(items, together=together, note=note)
        ended = self._clock.now()
        traces = Counter(item.task.trace for item in items if isinstance(item, NewRun) and item.task.trace is not None)
        for parent, count in traces.items():
            attributes = {"mainspring.runs": count, "mainspring.batch_size": len(items)}
            self._tracing.record("store add", parent=parent, began=began, ended=ended, attributes=attributes)
        return answers


class TracedTimetable(ForwardingTimetable):
    """`Timetable` that begins a trace with each moment that fires: there is no request that it could belong to."""

    def __init__(self, timetable: Timetable, tracing: Tracing, clock: Clock) -> None:
        super().__init__(timetable)
        self._tracing = tracing
        self._clock = clock

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """As `Timetable.fire`; if the store refuses an advance, its traces end where they began."""
        traced = [replace(advance, runs=tuple(map(self._begun, advance.runs))) for advance in advances]
        return await super().fire(traced)

    def _begun(self, run: NewRun) -> NewRun:
        now = self._clock.now()
        began = now if isinstance(run.due, timedelta) else run.due
        attributes = {"mainspring.job_id": str(run.job_id), "mainspring.run_id": str(run.id)}
        name = f"fire {run.task.handler}"
        trace = self._tracing.record(name, Kind.PRODUCER, parent=None, began=began, ended=now, attributes=attributes)
        return replace(run, task=replace(run.task, trace=trace))
