"""Runs in hand: those that wait for a slot and those that execute.

Everything here happens in the loop, in turns. What a turn begins is journalled with one write before any of its
handlers is called; what has ended since the last turn leaves for the store as one group.
"""

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from datetime import timedelta

from mainspring.domain.ids import Fence, RunId, SessionId
from mainspring.domain.outcome import Cancelled, HandedBack, Outcome
from mainspring.domain.run import Attempt
from mainspring.domain.suspects import WAITS
from mainspring.errors import Exhausted
from mainspring.logs import get_logger
from mainspring.ports.journal import Began
from mainspring.ports.output import Printed
from mainspring.worker.context import Context, Toolbox
from mainspring.worker.execution import Cause, Execution
from mainspring.worker.notebook import Notebook
from mainspring.worker.printing import Printer
from mainspring.worker.registry import Registry
from mainspring.worker.settings import WorkerPorts, WorkerSettings
from mainspring.worker.settling import Settler
from mainspring.worker.shortage import Shortage
from mainspring.worker.tracing import caller_for

UNKNOWN_HANDLER_DELAY = timedelta(seconds=5)
DRAINING = "the worker was asked to drain"
BESIDE_A_SUSPECT = "the worker runs a suspect alone"
_OWN_TIMER_BELOW = 1.0
_TAKES_CONTEXT = 2

log = get_logger("mainspring.worker")


class Executor:
    """Starts what fits into the slots, stops what must end, reports what came of it."""

    def __init__(
        self,
        settings: WorkerSettings,
        ports: WorkerPorts,
        registry: Registry,
        notebook: Notebook,
        printer: Printer,
        *,
        shortage: Shortage,
    ) -> None:
        self._settings = settings
        self._clock = ports.clock
        self._observer = ports.observer
        self._registry = registry
        self._notebook = notebook
        self._caller = caller_for(ports, self._finish, self._run_short)
        self._loop = asyncio.get_running_loop()
        self._tools = Toolbox(
            locks=ports.locks,
            clock=ports.clock,
            loop=self._loop,
            transactions=ports.transactions,
            printed=printer.note,
        )
        self._turn_is_due = False
        self._grace = settings.cancel_grace.total_seconds()
        self.settler = Settler(ports, notebook, printer, soon=self.soon)
        self.shortage = shortage
        self.session: SessionId
        """Who holds what is in hand; set before anything is accepted."""
        self.waiting: deque[Attempt] = deque()
        self.executing: dict[int, Execution] = {}
        """By the number of the run's id: hashing a UUID costs five times as much."""
        self.leaving: dict[int, Execution] = {}
        """Decided, but still in their slots; by identity."""
        self.closing = False
        """Set when nothing more is to be started."""
        self.draining = False
        """Set while nothing more is to be taken."""
        self.for_suspects = False
        """Set while a suspect is to be the only one here; nobody takes one otherwise, however it came."""
        self.finished = 0
        """How many executions have ended by themselves; with `busy_seconds`, for measuring the rate."""
        self._busy_seconds = 0.0
        self._busy_since = 0.0
        self.busy = asyncio.Event()
        """Set whenever there is something in hand that somebody must keep an eye on."""
        self.changed = asyncio.Event()
        """Set whenever a slot or the backlog of verdicts has changed."""

    @property
    def slots(self) -> int:
        """Slots that aren't blocked by a handler that doesn't end."""
        return max(self._settings.concurrency - len(self.leaving), 0)

    @property
    def in_hand(self) -> int:
        """Runs that wait or execute here."""
        return len(self.waiting) + len(self.executing)

    def busy_seconds(self, now: float) -> float:
        """For how long anything has executed, until *now*: waiting for work isn't slowness."""
        return self._busy_seconds + (now - self._busy_since if self.executing else 0.0)

    def accept(self, attempts: Sequence[Attempt]) -> None:
        """Take over runs that the store has handed to this session."""
        for attempt in attempts:
            if attempt.cancelling:
                self.settler.report(attempt, Cancelled())
            elif self._registry.find(attempt.task.handler) is None:
                reason = self._registry.why_not(attempt.task.handler)
                self.settler.report(attempt, HandedBack(delay=UNKNOWN_HANDLER_DELAY, reason=reason))
            elif self.draining:
                self.settler.report(attempt, HandedBack(reason=DRAINING))
            elif self._crowds(attempt):
                self.settler.report(attempt, HandedBack(reason=WAITS if attempt.suspect else BESIDE_A_SUSPECT))
            else:
                self.waiting.append(attempt)
        self.busy.set()
        self.soon()

    def _crowds(self, attempt: Attempt) -> bool:
        """Whether a suspect would have company if this were taken."""
        return attempt.suspect is not self.for_suspects or (attempt.suspect and self.in_hand > 0)

    def soon(self) -> None:
        """Have a turn once everything that is ready in this round of the loop has run."""
        # The loop is closed when the coroutine of a handler that never ended is thrown away.
        if not self._turn_is_due and not self._loop.is_closed():
            self._turn_is_due = True
            self._loop.call_soon(self._turn)

    def find(self, run_id: RunId) -> Execution | None:
        """The execution of that run, if it executes here."""
        return self.executing.get(run_id.int)

    def hand_back_waiting(self, reason: str) -> None:
        """Give back everything that hasn't started; no attempt is charged."""
        while self.waiting:
            self.settler.report(self.waiting.popleft(), HandedBack(reason=reason))

    def begin_draining(self) -> None:
        """Take nothing more, give back what hasn't started; what executes may end."""
        self.draining = True
        self.hand_back_waiting(DRAINING)
        self.soon()

    def end_draining(self) -> None:
        """Take work again, at once."""
        self.draining = False
        self.changed.set()

    def _run_short(self, lack: Exhausted) -> None:
        """Others may have what we lack: give them what hasn't started."""
        self.shortage.note(lack)
        self.hand_back_waiting(str(lack))

    def drop_waiting(self, runs: Sequence[tuple[RunId, Fence]]) -> None:
        """Forget runs that haven't started and aren't ours any more."""
        gone = frozenset(runs)
        self.waiting = deque(each for each in self.waiting if (each.run_id, each.fence) not in gone)

    def cancel(self, run_id: RunId) -> None:
        """Somebody asked to cancel the run: ask the handler first; the reaper insists after the grace."""
        execution = self.executing.get(run_id.int)
        if execution is not None and execution.cause is None:
            execution.ask_to_stop(Cause.CANCEL)
            execution.act_at = self._clock.monotonic() + self._grace
        for attempt in [each for each in self.waiting if each.run_id == run_id]:
            self.waiting.remove(attempt)
            self.settler.report(attempt, Cancelled())

    def stop(self, execution: Execution, cause: Cause) -> None:
        """End the execution now, as far as that can be done from outside."""
        if execution.cause is not Cause.CANCEL or cause is Cause.TAKEN:
            execution.ask_to_stop(cause)
        execution.hard = True
        execution.act_at = self._clock.monotonic() + self._grace
        if execution.task is None or execution.entered:
            if execution.task is not None and execution.stoppable:
                execution.task.cancel()
            return
        execution.task.cancel()
        self._finish(execution, execution.stopped_outcome())

    def take_away(self, execution: Execution) -> None:
        """Somebody else may have the run: stop it and report nothing."""
        self._leave(execution)
        self.stop(execution, Cause.TAKEN)

    def give_up(self, execution: Execution) -> None:
        """Report a stopped execution without waiting for its end; it keeps its slot until then."""
        outcome = execution.stopped_outcome()
        self._tell(execution, outcome)
        self.settler.report(execution.attempt, outcome, _last_output(execution))
        self._leave(execution)
        execution.act_at = -math.inf

    def act(self, execution: Execution) -> None:
        """The execution's time has come: its deadline, or the end of a grace."""
        if execution.hard:
            self.give_up(execution)
            return
        self.stop(execution, Cause.TIMEOUT)
        if not execution.stoppable and not execution.closed:
            self.give_up(execution)

    def _leave(self, execution: Execution) -> None:
        execution.closed = True
        self._remove(execution)
        self.leaving[id(execution)] = execution
        self.soon()

    def _remove(self, execution: Execution) -> None:
        del self.executing[execution.attempt.run_id.int]
        if not self.executing:
            self._busy_seconds += self._clock.monotonic() - self._busy_since

    def _finish(self, execution: Execution, outcome: Outcome, printed: Printed | None = None) -> None:
        if execution.timer is not None:
            execution.timer.cancel()
        if execution.closed:
            self.leaving.pop(id(execution), None)
            self.soon()
            return
        execution.closed = True
        self.finished += 1
        self._remove(execution)
        if execution.context is not None and printed is None:
            printed = execution.context.take_printed()
        self._tell(execution, outcome)
        self.settler.report(execution.attempt, outcome, printed)

    def _tell(self, execution: Execution, outcome: Outcome) -> None:
        self._observer.ended(execution.attempt, outcome, self._clock.monotonic() - execution.began_at)

    def _turn(self) -> None:
        self._turn_is_due = False
        starting = self._take_startable() if self.waiting and not self.closing else []
        if starting:
            self._notebook.append([Began(each.attempt.run_id, each.attempt.fence) for each in starting])
        self.settler.wake()
        create_task, execute, began = self._loop.create_task, self._caller.execute, self._observer.began
        for execution in starting:
            if execution.closed:  # its successor came in the same turn
                del self.leaving[id(execution)]
            else:
                began(execution.attempt)
                execution.task = create_task(execute(execution))
        if self._notebook.long:
            self._notebook.rewrite(self.session, list(self.executing.values()), self.settler.unsettled)
        self.changed.set()

    def _take_startable(self) -> list[Execution]:
        free = min(self.slots - len(self.executing), len(self.waiting))
        started_at, now = self._clock.now(), self._clock.monotonic()
        if not self.executing:
            self._busy_since = now
        starting: list[Execution] = []
        for _ in range(free):
            attempt = self.waiting.popleft()
            handler = self._registry.find(attempt.task.handler)
            assert handler is not None  # noqa: S101 - what waits was looked up when it was accepted
            timeout = attempt.task.timeout.total_seconds()
            older = self.executing.get(attempt.run_id.int)
            if older is not None:
                if older.attempt.fence >= attempt.fence:
                    continue
                self.take_away(older)
            context = None
            if handler.arguments == _TAKES_CONTEXT:
                context = Context(attempt, started_at=started_at, tools=self._tools)
            execution = Execution(attempt, handler, context, now, now + timeout)
            self.executing[attempt.run_id.int] = execution
            if timeout < _OWN_TIMER_BELOW:
                execution.timer = self._loop.create_task(self._act_after(execution, attempt.task.timeout))
            starting.append(execution)
        return starting

    async def _act_after(self, execution: Execution, delay: timedelta) -> None:
        await self._clock.sleep(delay)
        if not execution.closed and execution.cause is None and execution.act_at < math.inf:
            self.act(execution)


def _last_output(execution: Execution) -> Printed | None:
    return None if execution.context is None else execution.context.take_printed()
