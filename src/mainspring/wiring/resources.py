"""What the roles of one process share: the store, time, chance and the means to wake each other."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from mainspring.adapters.private_files import narrow_folder
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.measurements import Measurements
from mainspring.errors import ConfigurationError
from mainspring.ports.pipes import Pipe
from mainspring.ports.sessions import Sessions
from mainspring.ports.time import Clock, Random
from mainspring.ports.timetable import Timetable
from mainspring.ports.tracing import UNTRACED, Tracing
from mainspring.ports.work import Work
from mainspring.services.space import Space
from mainspring.wiring.brokers import chosen_carrier, heralding, publishing
from mainspring.wiring.coordination import chosen_exchange
from mainspring.wiring.incidents import LoggedIncidents
from mainspring.wiring.measuring import MeasuredStore
from mainspring.wiring.patience import once_there
from mainspring.wiring.settings import Settings
from mainspring.wiring.stores import SIGNALS, Store, open_exchange, open_store, patience_with, store_exists
from mainspring.wiring.switchboard import Switchboard
from mainspring.wiring.tracing import open_tracing, traced_store
from mainspring.wiring.waking import Waker, WakingSessions, WakingTimetable, WakingWork
from mainspring.worker.settings import Carrier

T = TypeVar("T")


class Resources:
    """Open as long as any role runs. *work*, *timetable* and *sessions* wake those who wait."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        clock: Clock,
        random: Random,
        switchboard: Switchboard,
        waker: Waker,
        measurements: Measurements,
        space: Space,
        tracing: Tracing,
        closing: AsyncExitStack,
        carrier: Carrier | None = None,
    ) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.random = random
        self.measurements = measurements
        """What the roles of this process measure."""
        self.space = space
        """Whether the store has any for what this process writes."""
        self.tracing = tracing
        self.work: Work = WakingWork(store.work, views=store.views, waker=waker, clock=clock)
        self.timetable: Timetable = WakingTimetable(store.timetable, waker=waker)
        self.sessions: Sessions = WakingSessions(store.sessions, waker=waker)
        self.switchboard = switchboard
        self.carrier = carrier
        """Where work comes by way of a broker."""
        self.incidents = LoggedIncidents(clock)
        """What goes wrong with executions, for the log."""
        closing.callback(self.incidents.close)
        self.closing = closing
        """Takes whatever a role opens and must be closed before the store."""
        self.readiness: list[Callable[[], bool]] = []
        """What each role says about whether it is up."""
        self.waits: list[Callable[[], str | None]] = []
        """What each role would wait for if it were to stop now, in words; None for nothing."""
        self.pipes: list[Callable[[], Pipe]] = []
        """What is known of each use of a server beside the store, where somebody keeps an eye on it."""


@asynccontextmanager
async def opened(
    settings: Settings, *, service: str | None = None, may_create: bool = True
) -> AsyncIterator[Resources]:
    """The same as `opened_at_once`, for callers that give a store as much time to answer as its URL says.

    ConfigurationError if there is no store, and none may be created.
    """
    if not may_create and not await store_there(settings):
        raise ConfigurationError(
            f"there is no store at {settings.shown_store}: check --store and --data; 'mainspring migrate' makes one"
        )
    async with AsyncExitStack() as closing:
        yield await _patiently(settings, lambda: closing.enter_async_context(opened_at_once(settings, service=service)))


async def store_there(settings: Settings) -> bool:
    """Whether there is a store; StoreUnavailable if nothing answers in the time that its URL says."""
    return await _patiently(settings, lambda: store_exists(settings.store_url))


async def _patiently(settings: Settings, attempt: Callable[[], Awaitable[T]]) -> T:
    url = settings.store_url
    return await once_there(attempt, clock=SystemClock(), random=SystemRandom(), at_most=patience_with(url))


@asynccontextmanager
async def opened_at_once(settings: Settings, *, service: str | None = None) -> AsyncIterator[Resources]:
    """Open everything, and close it in the opposite order whatever happens; StoreUnavailable if there is no store yet.

    Only a *service*, which goes on for long, is traced if the settings say so; the name is for those who look.
    """
    narrow_folder(settings.data, _is_ours)
    async with AsyncExitStack() as closing:
        tracing = await open_tracing(service, closing) if settings.tracing and service is not None else UNTRACED
        clock, random = SystemClock(), SystemRandom()
        # First, because this is what finds out that a pooler stands before the store.
        of_store = await open_exchange(settings.store_url, random=random, closing=closing)
        exchange = await chosen_exchange(settings, of_store, random=random, closing=closing)
        opened_store = await open_store(
            settings.store_url, clock=clock, random=random, herald=heralding(settings, exchange)
        )
        closing.push_async_callback(opened_store.close)
        measurements = Measurements()
        space = Space()
        store = MeasuredStore.over(opened_store, measurements, clock, space)
        if tracing.enabled:
            store = traced_store(store, tracing, clock)
        carrier = await chosen_carrier(
            settings, store.tickets, measurements, clock=clock, random=random, closing=closing
        )
        switchboard = publishing(exchange, closing, carrier, clock)
        waker = Waker(await switchboard.sender(), exchange.foretell)
        closing.push_async_callback(waker.close)
        yield Resources(
            settings,
            store,
            clock=clock,
            random=random,
            switchboard=switchboard,
            waker=waker,
            measurements=measurements,
            space=space,
            tracing=tracing,
            closing=closing,
            carrier=carrier,
        )


def _is_ours(name: str) -> bool:
    """Whether something in a data folder can only be Mainspring's."""
    return name in ("journal", SIGNALS) or name.startswith("mainspring.db")
