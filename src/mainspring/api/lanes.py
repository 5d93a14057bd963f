"""Which lane a job's runs go to, and whether any worker may run its handler."""

from collections.abc import Mapping
from types import MappingProxyType

from mainspring.api.requests import JobRequest
from mainspring.domain.ids import DEFAULT_LANE, Lane
from mainspring.errors import HandlerOff, UnknownHandler
from mainspring.ports.sessions import Role, Sessions
from mainspring.ports.time import Clock
from mainspring.ports.views import Views

BELIEVED = 5.0
"""Seconds for which the list of known handlers is believed."""
UNKNOWN_BELIEVED = 0.1
"""Seconds for which a handler that isn't on it is believed to be unknown, by a job that doesn't mind."""


class Lanes:
    """Looks lanes up; the store is asked now and then only."""

    def __init__(
        self,
        views: Views,
        clock: Clock,
        *,
        builtin: Mapping[str, Lane],
        switchable: Mapping[str, str] = MappingProxyType({}),
        sessions: Sessions | None = None,
    ) -> None:
        self._views = views
        self._clock = clock
        self._builtin = builtin
        self._switchable = switchable
        self._sessions = sessions
        self._registered: Mapping[str, Lane] = {}
        self._registered_at = float("-inf")

    def at_hand(self, request: JobRequest) -> Lane | None:
        """The same without asking the store, where that is possible."""
        known = self._registered.get(request.handler) or self._builtin.get(request.handler)
        if (
            known is None
            or self._may_be_off(request.handler)
            or self._clock.monotonic() - self._registered_at > BELIEVED
        ):
            return None
        return Lane(request.lane) if request.lane else known

    async def of(self, request: JobRequest) -> Lane:
        """The lane that was asked for, or the handler's own; UnknownHandler if nobody ever served it.

        HandlerOff if it is built in, no worker ever had it, and those that are alive now have it switched off.
        """
        known = await self._lane_of(request.handler, UNKNOWN_BELIEVED if request.allow_unknown_handler else 0.0)
        if not request.allow_unknown_handler:
            if known is None:
                raise UnknownHandler(request.handler, {**self._builtin, **self._registered})
            if self._may_be_off(request.handler) and await self._somebody_lives():
                raise HandlerOff(self._switchable[request.handler])
        return Lane(request.lane) if request.lane else known or DEFAULT_LANE

    def _may_be_off(self, handler: str) -> bool:
        return handler in self._switchable and handler not in self._registered

    async def _somebody_lives(self) -> bool:
        return self._sessions is not None and bool(await self._sessions.live(Role.WORKER))

    async def _lane_of(self, handler: str, unknown_believed: float) -> Lane | None:
        age = self._clock.monotonic() - self._registered_at
        known = handler in self._registered or (handler in self._builtin and handler not in self._switchable)
        if age > (BELIEVED if known else unknown_believed):
            self._registered = await self._views.handlers()
            self._registered_at = self._clock.monotonic()
        return self._registered.get(handler) or self._builtin.get(handler)
