"""Deliberate defects of work by way of a broker; each takes one safeguard away."""

from collections.abc import Sequence

from mainspring.ports.broker import Delivery
from mainspring.testing.simulation.ablation import Ablation, method, statement
from mainspring.testing.simulation.storage import Store
from mainspring.worker.receiving import Receiving

_NEVER = 1e6
"""Seconds: no schedule lasts as long."""


async def _acknowledge_first(self: Receiving, deliveries: Sequence[Delivery]) -> None:
    await self._carrier.broker.acknowledge(deliveries)
    await _start(self, deliveries)


async def _plan_no_claim(self: Receiving) -> None:
    self._claim_at = self._ports.clock.monotonic() + _NEVER


_start = Receiving._start  # noqa: SLF001 - what is called in another order

ABLATIONS: tuple[Ablation, ...] = (
    Ablation(
        "ticket-without-fence",
        "a ticket starts its run whatever has become of it since",
        statement("tickets", ("current", "q.fence = j.value ->> 1 AND", "")),
        Store.BROKER,
    ),
    Ablation(
        "start-early",
        "a ticket starts its run although the store's clock was set back meanwhile",
        statement("tickets", ("current", "AND q.deadline_at <= ?2", "AND ?2 IS NOT NULL")),
        Store.BROKER,
    ),
    Ablation(
        "start-by-the-dead",
        "a session that has ended may still start what a ticket names",
        statement("work", ("holder", "AND state = 0", "")),
        Store.BROKER,
    ),
    Ablation(
        "acknowledge-before-start",
        "a message is acknowledged before the store was asked for its run",
        method(Receiving, "_start", _acknowledge_first),
        Store.BROKER,
    ),
    Ablation(
        "broker-trusted",
        "workers rely on the broker while it is there, and claim nothing",
        method(Receiving, "_plan_next_claim", _plan_no_claim),
        Store.BROKER,
    ),
)
