"""Taking up where a predecessor of the same name was killed, before anything new begins.

What it had finished is settled, what it had begun is lost, what it had only claimed is handed back, and its session is
closed at once instead of when its time is up. The journal is rewritten last: dying in the midst of this repeats it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from mainspring.domain.ids import Fence, RunId, SessionId
from mainspring.domain.outcome import HandedBack, Lost, Outcome, Settled, Verdict, judge
from mainspring.domain.run import Attempt
from mainspring.domain.suspects import RESTARTED
from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.journal import Began, Finished, Note, Opened
from mainspring.worker.backoff import Backoff
from mainspring.worker.delivery import Delivery, Refused
from mainspring.worker.settings import WorkerPorts

BATCH = 1000

log = get_logger("mainspring.worker")
T = TypeVar("T")


class Recovery:
    """Replays the journal of this worker's name."""

    def __init__(self, ports: WorkerPorts) -> None:
        self._ports = ports
        self._backoff = Backoff(ports.clock, ports.random)
        self._began: frozenset[tuple[RunId, Fence]] = frozenset()
        self._shared = False
        """Whether more than one run was lost. The journal says so however often this is begun anew; a machine that lost
        its power may have lost notes, too, and then the store says it."""
        self._refused: frozenset[tuple[RunId, Fence]] = frozenset()

    async def run(self) -> Sequence[Refused]:
        """Settle everything that the journal knows; returns once the store has taken it, but for what it refuses."""
        notes = self._ports.journal.replay()
        refused: Sequence[Refused] = ()
        if notes:
            refused = await self._settle_finished(notes)
            self._refused = frozenset((each.verdict.run_id, each.verdict.fence) for each in refused)
            self._began = frozenset((note.run_id, note.fence) for note in notes if isinstance(note, Began))
            finished = {(note.verdict.run_id, note.verdict.fence) for note in notes if isinstance(note, Finished)}
            self._shared = len(self._began - finished) > 1
            for note in notes:
                if isinstance(note, Opened):
                    await self._end(note.session)
        self._ports.journal.rewrite([Finished(each.verdict) for each in refused])
        return refused

    async def _settle_finished(self, notes: Sequence[Note]) -> Sequence[Refused]:
        delivery = Delivery(self._ports.work, self._ports.clock, self._ports.random)
        verdicts = [note.verdict for note in notes if isinstance(note, Finished)]
        refused: list[Refused] = []
        for start in range(0, len(verdicts), BATCH):
            delivered = await delivery.settle(verdicts[start : start + BATCH])
            refused += delivered.refused
            for verdict in delivered.stale:
                self._ports.incidents.stale(verdict)
        if verdicts:
            log.info("recovery.settled", runs=len(verdicts) - len(refused))
        return refused

    async def _end(self, session: SessionId) -> None:
        # What has ended, but not in a way that the store takes, isn't lost: whoever takes it back says so.
        seen = set(self._refused)
        while True:
            attempts = await self._insist(lambda: self._ports.sessions.held(session, BATCH))
            # A store may go on naming runs that were settled: what was judged once isn't judged again.
            fresh = [each for each in attempts if (each.run_id, each.fence) not in seen]
            if not fresh:
                break
            self._shared = self._shared or len(fresh) > 1
            seen.update((each.run_id, each.fence) for each in fresh)
            await self._settle(fresh)
        rescued = len(seen) - len(self._refused)
        await self._insist(lambda: self._ports.sessions.close(session, rescued=rescued))
        log.info("recovery.session_closed", session=session, runs=rescued)

    def _judge(self, attempt: Attempt) -> Verdict:
        outcome: Outcome = HandedBack(reason="the worker was killed before it began")
        if (attempt.run_id, attempt.fence) in self._began:
            outcome = Lost(reason="the worker was killed", shared=RESTARTED if self._shared else None)
        return judge(attempt, outcome, now=self._ports.clock.now(), uniform=0.0)

    async def _settle(self, attempts: Sequence[Attempt]) -> None:
        verdicts = [self._judge(each) for each in attempts]
        answers = await self._insist(lambda: self._ports.work.settle(verdicts))
        for attempt, verdict, answer in zip(attempts, verdicts, answers, strict=True):
            if answer is Settled.ACCEPTED and verdict.session is not None:
                self._ports.incidents.failed(attempt, verdict)

    async def _insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await insist(ask, self._backoff)


async def insist(ask: Callable[[], Awaitable[T]], backoff: Backoff) -> T:
    """Ask until the store answers."""
    while True:
        try:
            answer = await ask()
        except StoreError as error:
            log.warning("store.unavailable", error=str(error))
            await backoff.pause()
        else:
            backoff.reset()
            return answer
