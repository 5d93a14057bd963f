"""What may stand beside the store: wake-ups and the lead among schedulers by a server of their own, chosen by URL.

All of it is for speed and for those who look: without it, or while it is away, processes go on by the store alone.
Locks are no part of this. Their fences have to outlive everything, which only stores promise.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from mainspring.errors import ConfigurationError
from mainspring.ports.checkup import Remark
from mainspring.ports.leadership import Leadership
from mainspring.ports.pipes import Probe
from mainspring.ports.time import Random
from mainspring.wiring.kinds import STORE
from mainspring.wiring.setting import PREFIX
from mainspring.wiring.settings import Settings
from mainspring.wiring.switchboard import Exchange, OpenSignals

PURPOSES: Final = ("signals", "members")
"""The settings that may name a server beside the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    """How to use the servers of one scheme. The adapter is imported only when it is asked for."""

    exchange: Callable[[str, Exchange, Random, AsyncExitStack], Awaitable[Exchange]]
    """Given the URL, and the store's own exchange for while the server is away; the stack closes what is opened."""
    leadership: Callable[[str, Random, AsyncExitStack], Awaitable[Leadership]]
    """Given the URL; the stack closes what is opened."""
    probe: Callable[[str, AsyncExitStack], Probe]
    """Given the URL; the stack closes what is opened."""
    examine: Callable[[str, str], Awaitable[Sequence[Remark]]]
    """Given the URL, and what it is for."""
    extra: str
    """What to install with Mainspring for the adapter's driver."""


async def _hub_of_redis(url: str, of_store: Exchange, random: Random, closing: AsyncExitStack) -> Exchange:
    from mainspring.adapters.redis.address import address  # noqa: PLC0415 - imported when it is asked for
    from mainspring.adapters.redis.signals import RedisHub  # noqa: PLC0415

    hub = await RedisHub.open(address(url), random=random)
    closing.push_async_callback(hub.close)

    async def open_signals(listening: bool) -> OpenSignals:
        instead = await of_store.open(listening)
        closing.push_async_callback(instead.close)
        return await hub.subscribe(instead) if listening else hub.sender(instead)

    return Exchange(open=open_signals)


async def _lead_in_redis(url: str, random: Random, closing: AsyncExitStack) -> Leadership:
    from mainspring.adapters.redis.address import address  # noqa: PLC0415
    from mainspring.adapters.redis.leadership import RedisLeadership  # noqa: PLC0415

    leadership = RedisLeadership(address(url), random=random)
    closing.push_async_callback(leadership.close)
    await leadership.open()
    return leadership


def _probe_redis(url: str, closing: AsyncExitStack) -> Probe:
    from mainspring.adapters.redis.address import address  # noqa: PLC0415
    from mainspring.adapters.redis.probe import RedisProbe  # noqa: PLC0415

    probe = RedisProbe(address(url))
    closing.push_async_callback(probe.close)
    return probe


async def _examine_redis(url: str, subject: str) -> Sequence[Remark]:
    from mainspring.adapters.redis.address import address  # noqa: PLC0415
    from mainspring.adapters.redis.checkup import examine  # noqa: PLC0415

    return await examine(address(url), subject)


_REDIS = Coordinator(
    exchange=_hub_of_redis, leadership=_lead_in_redis, probe=_probe_redis, examine=_examine_redis, extra="redis"
)

COORDINATORS: Final[Mapping[str, Coordinator]] = MappingProxyType({"redis": _REDIS, "rediss": _REDIS})


async def chosen_exchange(
    settings: Settings, of_store: Exchange, *, random: Random, closing: AsyncExitStack
) -> Exchange:
    """How processes wake each other: as the store would have it, unless the settings name something else."""
    if settings.signals == STORE:
        return of_store
    with _adapter(settings, "signals") as coordinator:
        return await coordinator.exchange(settings.signals, of_store, random, closing)


async def chosen_leadership(settings: Settings, *, random: Random, closing: AsyncExitStack) -> Leadership | None:
    """What says who leads among schedulers; None if that is left to the store."""
    if settings.members == STORE:
        return None
    with _adapter(settings, "members") as coordinator:
        return await coordinator.leadership(settings.members, random, closing)


def probes(settings: Settings, *, closing: AsyncExitStack) -> Iterator[tuple[Probe, Sequence[str]]]:
    """One for each server that the settings name, and all that the server is for."""
    for url, purposes in _servers(settings).items():
        with _adapter(settings, purposes[0]) as coordinator:
            probe = coordinator.probe(url, closing)
        yield probe, purposes


async def examine_all(settings: Settings) -> Sequence[Remark]:
    """What there is to say about each server that the settings name, once."""
    remarks: list[Remark] = []
    for url, purposes in _servers(settings).items():
        with _adapter(settings, purposes[0]) as coordinator:
            remarks += await coordinator.examine(url, ", ".join(purposes))
    return remarks


def _servers(settings: Settings) -> Mapping[str, Sequence[str]]:
    """By URL, what each is for."""
    found: dict[str, list[str]] = {}
    for purpose in PURPOSES:
        url = getattr(settings, purpose)
        if url != STORE:
            found.setdefault(url, []).append(purpose)
    return found


@contextmanager
def _adapter(settings: Settings, name: str) -> Iterator[Coordinator]:
    scheme = getattr(settings, name).partition(":")[0].lower()
    coordinator = COORDINATORS[scheme]  # the settings take no other
    try:
        yield coordinator
    except ModuleNotFoundError as error:
        # It may have been set for another program: people are to know where it comes from, and how to do without.
        origin = settings.origins.get(name, name)
        raise ConfigurationError(
            f"{origin} has a {scheme}:// URL, which needs its extra: pip install 'mainspring[{coordinator.extra}]'"
            f" (no module {error.name!r}), or leave it to the store by {PREFIX}{name.upper()}={STORE}"
        ) from error
