"""Standing by: a worker that somebody asked to drain keeps its session and takes nothing, until it is resumed.

The wish comes with the answers to heartbeats, and leaves the same way: drained is what the store says that we hold
nothing of, and we have nothing of either.
"""

from collections.abc import Callable

from mainspring.logs import get_logger
from mainspring.ports.sessions import Heard
from mainspring.worker.claims import Claims
from mainspring.worker.executing import Executor

log = get_logger("mainspring.worker")


class Standby:
    """Begins and ends with what is heard; *hasten* brings the next heartbeat forward."""

    def __init__(self, executor: Executor, claims: Claims, hasten: Callable[[], None]) -> None:
        self._executor = executor
        self._claims = claims
        self._hasten = hasten
        self.drained = False
        """Whether nothing is in hand and nothing is taken, by all that we and the store know."""

    def hear(self, heard: Heard) -> bool:
        """Do as is wished; whether draining has only now begun, and somebody must watch for its end."""
        if heard.draining == self._executor.draining:
            self._judge(heard)
            return False
        self.drained = False
        if heard.draining:
            log.info("standby.began", executing=len(self._executor.executing), waiting=len(self._executor.waiting))
            self._executor.begin_draining()
            return True
        log.info("standby.ended")
        self._executor.end_draining()
        self._hasten()
        return False

    async def watch(self) -> None:
        """Have the store asked as soon as nothing is in hand, until it agrees or nobody wishes it any more."""
        changed = self._executor.changed
        while self._executor.draining and not self.drained:
            if self._empty:
                self._hasten()
            changed.clear()
            await changed.wait()

    def _judge(self, heard: Heard) -> None:
        """By an answer whose question came after the last claim: the first that speaks of a wish may be older."""
        drained = heard.draining and not heard.held and self._empty
        if drained != self.drained:
            self.drained = drained
            log.info("standby.drained" if drained else "standby.strays")
            self._executor.changed.set()
            self._hasten()

    @property
    def _empty(self) -> bool:
        executor = self._executor
        return not (executor.in_hand or executor.settler.backlog or self._claims.outstanding)
