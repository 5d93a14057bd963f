"""Asking for work where it comes by way of a broker: tickets for what is free, and claims for what got lost.

A ticket is a hint, and nothing that happens to one matters: the store hands each run over once. Work whose ticket never
came is found by a claim, which every worker makes now and then; while the broker is away, there are only claims.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

from mainspring.domain.ids import SessionId
from mainspring.domain.ticket import Ticket, read
from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.broker import Delivery
from mainspring.ports.sessions import Role
from mainspring.worker.claims import Claims
from mainspring.worker.executing import Executor
from mainspring.worker.registry import Registry
from mainspring.worker.settings import Carrier, WorkerPorts, WorkerSettings

CLAIMS_A_SECOND = 100
"""Of all workers together, at most, while there is nothing to be found."""
LOOK_AROUND = 60.0
"""Seconds between two looks at how many workers there are."""

log = get_logger("mainspring.worker")


class Receiving(Claims):
    """Claims, and between two of them whatever the broker brings."""

    def __init__(
        self,
        settings: WorkerSettings,
        ports: WorkerPorts,
        registry: Registry,
        executor: Executor,
        *,
        session_lost: Callable[[SessionId], None],
    ) -> None:
        super().__init__(settings, ports, registry, executor, session_lost=session_lost)
        assert ports.carrier is not None  # noqa: S101 - whoever has none only claims
        self._carrier: Carrier = ports.carrier
        self._claim_at = float("-inf")
        self._workers = 1
        self._counted_at = float("-inf")

    async def step(self) -> timedelta | None:
        """Wait for room, receive or claim once; return how long to rest unless woken, or None for not at all."""
        if not self._carrier.broker.connection.up:
            return await super().step()
        left = self._claim_at - self._ports.clock.monotonic()
        if left <= 0:
            await super().step()
            await self._plan_next_claim()
            return None
        _, room = await self._until_room()
        deliveries = await self._carrier.broker.receive(self._topics, room, timedelta(seconds=left))
        if deliveries:
            await self._start(deliveries)
        return None

    async def _plan_next_claim(self) -> None:
        """Rarely enough that all workers together don't ask too often."""
        now = self._ports.clock.monotonic()
        if now >= self._counted_at + LOOK_AROUND:
            self._counted_at = now
            try:
                self._workers = len(await self._ports.sessions.live(Role.WORKER))
            except StoreError as error:
                log.warning("workers.uncounted", error=str(error))
        seconds = max(self._settings.poll.total_seconds(), self._workers / CLAIMS_A_SECOND)
        self._claim_at = now + seconds * (0.75 + self._ports.random.uniform() / 2)

    async def _start(self, deliveries: Sequence[Delivery]) -> None:
        session = self.session
        if session is None or self.paused or self._executor.draining:
            return  # others claim what these are about
        starting = self._carrier.tickets.start(session, self._readable(deliveries))
        answers = await self.answer(session, starting, failed="start.failed")
        if answers is not None:
            self._executor.accept([attempt for attempt in answers if attempt is not None])
            # Only now, and whatever the answer: from here on the store looks after what was started.
            await self._carrier.broker.acknowledge(deliveries)

    def _readable(self, deliveries: Sequence[Delivery]) -> Sequence[Ticket]:
        tickets: list[Ticket] = []
        for delivery in deliveries:
            try:
                tickets.append(read(delivery.body))
            except ValueError as error:
                log.warning("ticket.unreadable", topic=delivery.topic, error=str(error))
                self._ports.observer.unreadable()
        return tickets
