"""What the store believes that we hold, against what we do hold.

They differ for good reasons for a moment, which is why a difference counts only when two heartbeats in a row show it.
"""

from mainspring.domain.ids import Fence, RunId, SessionId
from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.sessions import Heard, Sessions
from mainspring.worker.claims import Claims
from mainspring.worker.executing import Executor

_MORE_THAN_HELD = 2
_AT_LEAST = 1000

log = get_logger("mainspring.worker")

Hold = tuple[RunId, Fence]


class Holdings:
    """Cancels what is to be cancelled, lets go of what was taken away, takes up what a lost answer handed over."""

    def __init__(self, sessions: Sessions, executor: Executor, claims: Claims) -> None:
        self._sessions = sessions
        self._executor = executor
        self._claims = claims
        self._missing: frozenset[Hold] = frozenset()
        self._strays: frozenset[Hold] = frozenset()
        self._taking_up = False
        """Whether strays are being read: those that are found may be done before another answer tells of them."""

    def hear(self, heard: Heard, asked_at: float) -> frozenset[Hold]:
        """Compare with what the store said at *asked_at*; return strays that have shown twice, to be taken up."""
        for run_id in sorted(heard.cancelling):
            self._executor.cancel(run_id)
        self._let_go(heard, asked_at)
        return self._find_strays(heard)

    async def take_up(self, session: SessionId, strays: frozenset[Hold]) -> None:
        """Execute runs that a claim handed over without our hearing of it, as if it had answered."""
        limit = max(_AT_LEAST, _MORE_THAN_HELD * len(strays))
        try:
            attempts = await self._sessions.held(session, limit)
        except StoreError as error:
            log.warning("strays.unread", error=str(error))
            return
        finally:
            self._taking_up = False
        known = self._known()
        found = [each for each in attempts if (hold := (each.run_id, each.fence)) in strays and hold not in known]
        log.info("strays.taken_up", runs=len(found))
        self._executor.accept(found)

    def _let_go(self, heard: Heard, asked_at: float) -> None:
        missing = {
            (execution.attempt.run_id, execution.attempt.fence): execution
            for execution in self._executor.executing.values()
            # A run that began after the question can't be in the answer.
            if execution.began_at < asked_at and heard.held.get(execution.attempt.run_id) != execution.attempt.fence
        }
        for hold, execution in missing.items():
            if hold in self._missing:
                log.warning("run.taken_away", run_id=str(hold[0]), fence=hold[1])
                self._executor.take_away(execution)
        self._missing = frozenset(missing)

    def _find_strays(self, heard: Heard) -> frozenset[Hold]:
        if self._claims.outstanding or self._taking_up:
            self._strays = frozenset()
            return self._strays
        unknown = frozenset(heard.held.items()) - self._known()
        twice, self._strays = unknown & self._strays, unknown
        self._taking_up = bool(twice)
        return twice

    def _known(self) -> frozenset[Hold]:
        executor = self._executor
        return frozenset(
            [
                *((each.attempt.run_id, each.attempt.fence) for each in executor.executing.values()),
                *((each.run_id, each.fence) for each in executor.waiting),
                *((each.run_id, each.fence) for each in executor.settler.unsettled),
            ]
        )
