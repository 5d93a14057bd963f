"""Verdicts on their way to the store: in groups, one group at a time, none ever dropped.

A group leaves as soon as the one before is answered, so that a fast store gets small groups and a slow one large
ones, without a timer.
"""

import asyncio
from collections.abc import Callable, Sequence

from mainspring.domain.outcome import Failed, Outcome, Succeeded, Verdict, judge
from mainspring.domain.run import Attempt
from mainspring.ports.incidents import Incidents
from mainspring.ports.journal import Finished
from mainspring.ports.observing import Observer
from mainspring.ports.output import Printed
from mainspring.ports.time import Clock, Random
from mainspring.ports.work import Work
from mainspring.worker.delivery import Delivery
from mainspring.worker.notebook import Notebook
from mainspring.worker.printing import Printer
from mainspring.worker.refusals import Refusals

MAX_GROUP = 2000


class Settler:
    """Judges outcomes and settles the verdicts."""

    def __init__(
        self,
        work: Work,
        clock: Clock,
        random: Random,
        notebook: Notebook,
        printer: Printer,
        *,
        observer: Observer,
        incidents: Incidents,
        soon: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._random = random
        self._notebook = notebook
        self._printer = printer
        self._incidents = incidents
        self._soon = soon
        self._delivery = Delivery(work, clock, random)
        self.refusals = Refusals(work, clock, random, observer, incidents)
        self._waiting: list[Verdict] = []
        self._sent: Sequence[Verdict] = ()
        self._outputs: list[Printed] = []
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
