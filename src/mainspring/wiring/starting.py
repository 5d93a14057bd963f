"""From settings to running roles, as soon as the store is there; until then a process waits for it, and says so."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.errors import StoreUnavailable
from mainspring.logs import get_logger
from mainspring.wiring.patience import once_there
from mainspring.wiring.process import Process, Role
from mainspring.wiring.resources import Resources, opened_at_once
from mainspring.wiring.settings import Settings

log = get_logger("mainspring.process")

Apologise = Callable[[StoreUnavailable], None]


async def run_once_there(
    process: Process,
    settings: Settings,
    begin: Callable[[Resources], Awaitable[Sequence[Role]]],
    *,
    service: str,
    apologise: Apologise | None = None,
) -> int:
    """Run the roles that *begin* makes of open resources to their end, and return the exit code.

    A store that can't be reached is waited for until a signal comes; *apologise* is told why. What *begin* has done
    when the store goes away is done again.
    """
    if settings.unserved:
        log.warning("settings.not_served", variables=list(settings.unserved))
    code = await _run(process, settings, begin, service=service, apologise=apologise)
    log.info("process.stopped", exit_code=code)
    return code


async def _run(
    process: Process,
    settings: Settings,
    begin: Callable[[Resources], Awaitable[Sequence[Role]]],
    *,
    service: str,
    apologise: Apologise | None,
) -> int:
    async with AsyncExitStack() as closing:

        async def attempt() -> Sequence[Role]:
            async with AsyncExitStack() as opening:
                resources = await opening.enter_async_context(opened_at_once(settings, service=service))
                roles = await begin(resources)
                process.waits = resources.waits
                closing.push_async_exit(opening.pop_all())
                return roles

        trouble = _Trouble(settings.shown_store, apologise)
        with process.hearing():
            waiting = once_there(attempt, clock=SystemClock(), random=SystemRandom(), awaiting=trouble.befell)
            roles = await process.unless_stopped(waiting)
            if roles is None:
                return 0
            trouble.over()
            return await process.run(roles)


class _Trouble:
    """Why there is no store, told once for each reason, however many attempts it lasts."""

    def __init__(self, store: str, apologise: Apologise | None) -> None:
        self._store = store
        self._apologise = apologise
        self._reason: str | None = None

    def befell(self, error: StoreUnavailable) -> None:
        if self._apologise is not None:
            self._apologise(error)
        if str(error) != self._reason:
            self._reason = str(error)
            log.warning("store.awaited", store=self._store, reason=self._reason)

    def over(self) -> None:
        if self._reason is not None:
            log.info("store.there", store=self._store)
