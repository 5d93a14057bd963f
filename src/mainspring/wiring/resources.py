"""What the roles of one process share: the store, time, chance and the means to wake each other."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from mainspring.adapters.files.signals import FileSignals
from mainspring.adapters.memory.signals import Hub, MemorySignals
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.ports.signals import Signals
from mainspring.ports.time import Clock, Random
from mainspring.ports.timetable import Timetable
from mainspring.ports.work import Work
from mainspring.wiring.settings import Settings
from mainspring.wiring.stores import Store, open_store, shared_folder
from mainspring.wiring.waking import Waker, WakingTimetable, WakingWork

SIGNALS = "signals"


class Switchboard:
    """Gives out signals: through a folder where other processes may share the store, else within this one."""

    def __init__(self, folder: Path | None, closing: AsyncExitStack) -> None:
        self._folder = folder
        self._closing = closing
        self._hub = Hub()

    async def subscribe(self) -> Signals:
        """Signals for one role alone: two that share one would take each other's."""
        return await self._open(listening=True)

    async def sender(self) -> Signals:
        """Signals for somebody who only notifies."""
        return await self._open(listening=False)

    async def _open(self, *, listening: bool) -> Signals:
        opened: FileSignals | MemorySignals
        if self._folder is None:
            opened = self._hub.subscribe() if listening else MemorySignals(self._hub)
        else:
            opened = await FileSignals.open(self._folder, listening=listening)
        self._closing.push_async_callback(opened.close)
        return opened


class Resources:
    """Open as long as any role runs. *work* and *timetable* wake those who wait."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        clock: Clock,
        random: Random,
        switchboard: Switchboard,
        waker: Waker,
        closing: AsyncExitStack,
    ) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.random = random
        self.work: Work = WakingWork(store.work, views=store.views, waker=waker, clock=clock)
        self.timetable: Timetable = WakingTimetable(store.timetable, waker=waker)
        self.switchboard = switchboard
        self.closing = closing
        """Takes whatever a role opens and must be closed before the store."""
        self.readiness: list[Callable[[], bool]] = []
        """What each role says about whether it is up."""


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Resources]:
    """Open everything, and close it in the opposite order whatever happens."""
    async with AsyncExitStack() as closing:
        clock = SystemClock()
        store = await open_store(settings.store_url, clock=clock)
        closing.push_async_callback(store.close)
        folder = shared_folder(settings.store_url)
        switchboard = Switchboard(None if folder is None else folder / SIGNALS, closing)
        waker = Waker(await switchboard.sender())
        closing.push_async_callback(waker.close)
        yield Resources(
            settings,
            store,
            clock=clock,
            random=SystemRandom(),
            switchboard=switchboard,
            waker=waker,
            closing=closing,
        )
