"""Verdicts on their way to the store: in groups, one group at a time, none ever dropped.

A group leaves as soon as the one before is answered, so that a fast store gets small groups and a slow one large
ones, without a timer.
"""

import asyncio
from collections.abc import Callable, Sequence

from mainspring.domain.ids import Lane
from mainspring.domain.outcome import Failed, Outcome, Succeeded, Verdict, judge
from mainspring.domain.retry import LONGEST_DELAY
from mainspring.domain.run import Attempt, State
from mainspring.ports.journal import Finished
from mainspring.ports.output import Printed
from mainspring.ports.signals import SOON, lane_topic
from mainspring.worker.delivery import Delivery
from mainspring.worker.notebook import Notebook
from mainspring.worker.printing import Printer
from mainspring.worker.refusals import Refusals
from mainspring.worker.settings import WorkerPorts

MAX_GROUP = 2000


class Settler:
    """Judges outcomes and settles the verdicts."""

    def __init__(self, ports: WorkerPorts, notebook: Notebook, printer: Printer, *, soon: Callable[[], None]) -> None:
        self._clock = ports.clock
        self._random = ports.random
        self._signals = ports.signals
        self._notebook = notebook
        self._printer = printer
        self._incidents = ports.incidents
        self._soon = soon
        self._delivery = Delivery(ports.work, ports.clock, ports.random)
        self.refusals = Refusals(ports.work, ports.clock, ports.random, ports.observer, ports.incidents)
        self._waiting: list[Verdict] = []
        self._sent: Sequence[Verdict] = ()
        self._outputs: list[Printed] = []
        self._again: dict[int, Lane] = {}
        """The lanes of runs that can start again soon, by the numbers of their ids."""
        self._something = asyncio.Event()

    def report(self, attempt: Attempt, outcome: Outcome, printed: Printed | None = None) -> None:
        """Take an outcome; it is journalled before this returns, and settled after that.

        One write per run, on purpose: the fewer finished runs a kill finds unwritten, the fewer are repeated.
        """
        # The time is asked for, and chance drawn, only where they are needed: a success depends on neither.
        now = attempt.started_at if type(outcome) is Succeeded else self._clock.now()
        failed = type(outcome) is Failed
        uniform = self._random.uniform() if failed else 0.0
        verdict = judge(attempt, outcome, now=now, uniform=uniform)
        self._notebook.append((Finished(verdict),))
        self._waiting.append(verdict)
        if failed:
            self._incidents.failed(attempt, verdict)
        if verdict.state is State.WAITING and verdict.delay <= SOON:
            self._again[verdict.run_id.int] = attempt.task.lane
        if verdict.delay == LONGEST_DELAY:
            self._incidents.clamped(attempt, verdict)
        if printed is not None:
            self._outputs.append(printed)
        self._soon()

    def wake(self) -> None:
        """Let go what has gathered."""
        if self._waiting:
            self._something.set()

    @property
    def unsettled(self) -> Sequence[Verdict]:
        """Verdicts that the store hasn't confirmed."""
        return [*self.refusals.verdicts, *self._sent, *self._waiting]

    @property
    def backlog(self) -> int:
        """How many verdicts the store hasn't confirmed, but for those that it refuses: nobody can wait for them."""
        return len(self._sent) + len(self._waiting)

    async def run(self) -> None:
        """Settle group after group for ever."""
        while True:
            await self._something.wait()
            self._something.clear()
            while self._waiting:
                await self._settle_group()

    async def _settle_group(self) -> None:
        group, self._waiting = self._waiting[:MAX_GROUP], self._waiting[MAX_GROUP:]
        self._sent = group
        outputs, self._outputs = self._outputs, []
        await self._printer.write(outputs)
        delivered = await self._delivery.settle(group)
        if delivered.refused:
            self.refusals.keep(delivered.refused)
        self._sent = ()
        self._soon()
        for verdict in delivered.stale:
            self._incidents.stale(verdict)
        await self._wake_lanes(group)

    async def _wake_lanes(self, group: Sequence[Verdict]) -> None:
        """Have workers look when the runs of *group* are due that start again before anybody would look by himself."""
        if self._again:
            lanes = [self._again.pop(each.run_id.int) for each in group if each.run_id.int in self._again]
            if lanes:
                await self._signals.notify([lane_topic(lane) for lane in dict.fromkeys(lanes)])
