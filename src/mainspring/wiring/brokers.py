"""Work by way of a broker, chosen by URL: one literal table of schemes, each with the way to open it.

A broker is transport. Without one, or while it is away, processes go on by the store alone.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from mainspring.api.measurements import Measurements
from mainspring.errors import ConfigurationError
from mainspring.ports.broker import Broker
from mainspring.ports.checkup import Remark
from mainspring.ports.pipes import Pipe
from mainspring.ports.signals import Herald
from mainspring.ports.tickets import Tickets
from mainspring.ports.time import Clock, Random
from mainspring.services.publishing import Publisher
from mainspring.wiring.kinds import DIRECT
from mainspring.wiring.measuring import MeasuredBroker
from mainspring.wiring.settings import Settings
from mainspring.wiring.switchboard import Exchange, Switchboard
from mainspring.worker.settings import Carrier


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """How to use the brokers of one scheme. The adapter is imported only when it is asked for."""

    open: Callable[[str, Clock, Random, AsyncExitStack], Awaitable[Broker]]
    """Given the URL; the stack closes what is opened."""
    examine: Callable[[str], Awaitable[Sequence[Remark]]]
    """Given the URL."""
    extra: str
    """What to install with Mainspring for the adapter's driver."""


async def _open_redis(url: str, clock: Clock, random: Random, closing: AsyncExitStack) -> Broker:
    from mainspring.adapters.redis.address import address  # noqa: PLC0415 - imported when it is asked for
    from mainspring.adapters.redis.broker import RedisBroker  # noqa: PLC0415

    broker = RedisBroker(address(url), clock=clock, random=random)
    closing.push_async_callback(broker.close)
    await broker.open()
    return broker


async def _examine_redis(url: str) -> Sequence[Remark]:
    from mainspring.adapters.redis.address import address  # noqa: PLC0415
    from mainspring.adapters.redis.checkup import examine_queue  # noqa: PLC0415

    return await examine_queue(address(url))


_REDIS = Scheme(open=_open_redis, examine=_examine_redis, extra="redis")

SCHEMES: Final[Mapping[str, Scheme]] = MappingProxyType({"redis": _REDIS, "rediss": _REDIS})


async def chosen_carrier(
    settings: Settings,
    tickets: Tickets,
    measurements: Measurements,
    *,
    clock: Clock,
    random: Random,
    closing: AsyncExitStack,
) -> Carrier | None:
    """How work comes to workers; None if they only claim it."""
    if settings.work == DIRECT:
        return None
    with _adapter(settings) as scheme:
        broker = await scheme.open(settings.work, clock, random, closing)
    return Carrier(broker=MeasuredBroker(broker, measurements), tickets=tickets)


def publishing(exchange: Exchange, closing: AsyncExitStack, carrier: Carrier | None, clock: Clock) -> Switchboard:
    """Signals that wake the lanes of workers through *carrier*, where there is one."""
    if carrier is None:
        return Switchboard(exchange, closing)
    return Switchboard(exchange, closing, lambda signals: Publisher(signals, carrier.tickets, carrier.broker, clock))


def heralding(settings: Settings, exchange: Exchange) -> Herald | None:
    """What may tell workers of an addition before anybody could publish it: nothing, if it is to be published."""
    return exchange.herald if settings.work == DIRECT else None


def work_pipe(broker: Broker) -> Pipe:
    """How it stands with the broker, for those who ask the API."""
    known = broker.connection
    error = None if known.up else known.error
    return Pipe(purpose="work", url=known.url, connected=known.up, since=known.since, error=error)


async def examine_broker(settings: Settings) -> Sequence[Remark]:
    """What there is to say about the broker that the settings name, if any."""
    if settings.work == DIRECT:
        return ()
    with _adapter(settings) as scheme:
        return await scheme.examine(settings.work)


@contextmanager
def _adapter(settings: Settings) -> Iterator[Scheme]:
    name = settings.work.partition(":")[0].lower()
    scheme = SCHEMES[name]  # the settings take no other
    try:
        yield scheme
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{_origin(settings)} has a {name}:// URL, which needs its extra: "
            f"pip install 'mainspring[{scheme.extra}]' (no module {error.name!r})"
        ) from error


def _origin(settings: Settings) -> str:
    return settings.origins.get("work", "work")
