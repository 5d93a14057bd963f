"""How many requests a second one owner may send. How many runs it may have is a matter of the quota.

Off unless it is set. Memory is bounded by owners, not by requests: whoever was silent longest is forgotten first, and
begins afresh.
"""

import math
from collections import OrderedDict

from starlette.types import ASGIApp, Receive, Scope, Send

from mainspring.api.caller import caller_of_scope
from mainspring.api.credentials import PUBLIC, path_of
from mainspring.api.problems import problem, problem_of
from mainspring.errors import MainspringError
from mainspring.ports.time import Clock

MOST_OWNERS = 10_000


class Rate:
    """A bucket of tokens per owner, which fills by the second and holds a second's worth."""

    def __init__(self, per_second: float, most_owners: int = MOST_OWNERS) -> None:
        self._per_second = per_second
        self._most = max(per_second, 1.0)
        self._most_owners = most_owners
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, owner: str, now: float) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        left, filled_at = self._buckets.get(owner, (self._most, now))
        left = min(self._most, left + (now - filled_at) * self._per_second)
        wait = 0.0 if left >= 1 else (1 - left) / self._per_second
        self._buckets[owner] = (left if wait else left - 1, now)
        self._buckets.move_to_end(owner)
        if len(self._buckets) > self._most_owners:
            self._buckets.popitem(last=False)
        return wait


class Limits:
    """Answers 429 to whoever sends too many requests."""

    def __init__(self, app: ASGIApp, *, per_second: float, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._rate = Rate(per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for the application, or let it answer."""
        if scope["type"] == "http" and path_of(scope) not in PUBLIC:
            try:
                wait = self._rate.take(caller_of_scope(scope).owner, self._clock.monotonic())
            except MainspringError as error:
                await problem_of(error)(scope, receive, send)
                return
            if wait:
                refusal = problem(429, "rate_limited", "Too many requests", "send fewer requests a second")
                refusal.headers["Retry-After"] = str(math.ceil(wait))
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)
