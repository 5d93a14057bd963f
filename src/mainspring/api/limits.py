"""How much one owner may ask for: requests a second, and runs that wait or run at once.

Both are off unless they are set. Memory is bounded by owners, not by requests: whoever was silent longest is
forgotten first, and begins afresh.
"""

import math
import re
from collections import OrderedDict

from fastapi import Request as HttpRequest
from fastapi import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mainspring.api.access import Access
from mainspring.api.caller import caller_of_scope
from mainspring.api.credentials import PUBLIC, path_of
from mainspring.api.problems import problem, problem_of
from mainspring.errors import MainspringError
from mainspring.ports.time import Clock
from mainspring.ports.views import Views

MOST_OWNERS = 10_000
BELIEVED = 1.0
"""Seconds that the store's figures hold; what was let through since is added to them."""

# Requests that make new runs, in the native API and the dialects.
_ADDING = re.compile(r"/(jobs|jobs/batch|submit|trigger|run|retry|requeue)/?$")


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


class Quota:
    """Runs of an owner that haven't ended: as the store last said, and what was let through since."""

    def __init__(self, most: int, views: Views, clock: Clock) -> None:
        self._most = most
        self._views = views
        self._clock = clock
        self._live: dict[str, int] = {}
        self._asked_at: float | None = None

    async def take(self, owner: str) -> bool:
        """Whether *owner* may add; a batch counts as one until the store is asked again."""
        now = self._clock.monotonic()
        if self._asked_at is None or now - self._asked_at >= BELIEVED:
            live: dict[str, int] = {}
            for tally in (await self._views.figures()).tallies:
                if tally.live > 0:
                    live[tally.owner] = live.get(tally.owner, 0) + tally.live
            self._live, self._asked_at = live, now
        if self._live.get(owner, 0) >= self._most:
            return False
        self._live[owner] = self._live.get(owner, 0) + 1
        return True


class Limits:
    """Answers 429 to whoever asks for too much."""

    def __init__(self, app: ASGIApp, *, access: Access, views: Views, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._rate = Rate(access.rate_per_second) if access.rate_per_second else None
        self._quota = Quota(access.quota, views, clock) if access.quota else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for the application, or let it answer."""
        limited = self._rate is not None or self._quota is not None
        if limited and scope["type"] == "http" and path_of(scope) not in PUBLIC:
            try:
                refusal = await self._refusal(HttpRequest(scope))
            except MainspringError as error:
                refusal = problem_of(error)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _refusal(self, request: HttpRequest) -> Response | None:
        owner = caller_of_scope(request.scope).owner
        wait = self._rate.take(owner, self._clock.monotonic()) if self._rate else 0.0
        if wait:
            return _too_much("rate_limited", "Too many requests", "send fewer requests a second", wait)
        adding = request.method == "POST" and _ADDING.search(request.url.path)
        if self._quota and adding and not await self._quota.take(owner):
            detail = "as many of this owner's runs wait or run as may; try again when some have ended"
            return _too_much("quota_exceeded", "The quota is used up", detail, 1.0)
        return None


def _too_much(code: str, title: str, detail: str, wait: float) -> Response:
    answer = problem(429, code, title, detail)
    answer.headers["Retry-After"] = str(math.ceil(wait))
    return answer
