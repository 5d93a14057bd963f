"""How many runs of one owner may wait or run at once, counted by what a request adds and not by requests.

The store's figures are believed for a second. What this process added since, or is adding now, is counted on top, so
that no number of requests at once gets more through than one after the other. Other API processes are seen only in the
figures: N of them may together let through N times what was left, within that second.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence

from mainspring.domain.job import NewJob
from mainspring.domain.run import NewRun
from mainspring.errors import MainspringError
from mainspring.ports.time import Clock
from mainspring.ports.views import Views
from mainspring.ports.work import Added, Addition

BELIEVED = 1.0
"""Seconds that the store's figures hold."""

_Item = NewRun | NewJob


class QuotaExceeded(MainspringError):
    """The owner has as many runs that wait or run as it may, or would have more."""

    def __init__(self, *, live: int, quota: int, asked: int) -> None:
        advice = "try again when some have ended" if asked <= quota else f"send at most {quota} at once"
        super().__init__(
            f"{live} runs of this owner wait or run, of at most {quota}, and this asks for {asked} more; "
            f"nothing was stored: {advice}"
        )
        self.live = live
        self.quota = quota
        self.asked = asked


class Quota:
    """Lets runs into the store while their owner has room for all of them; with 0 as *most*, always.

    Jobs that recur or wait to be triggered are no runs yet, and what a schedule fires is never refused.
    """

    def __init__(self, most: int, views: Views, clock: Clock) -> None:
        self._most = most
        self._views = views
        self._clock = clock
        self._live: Counter[str] = Counter()
        """As the store last said."""
        self._added: Counter[str] = Counter()
        """What was stored since the store was last asked, which its answer may hold or not."""
        self._adding: Counter[str] = Counter()
        """What has been let through and isn't answered yet."""
        self._asked_at: float | None = None
        self._asking = asyncio.Lock()

    async def adding(self, items: Sequence[_Item], add: Callable[[], Awaitable[Sequence[Added]]]) -> Sequence[Added]:
        """What *add* answers for *items*; QuotaExceeded instead, before it is called, if there is no room for them.

        Items whose key is taken add nothing, and need no room.
        """
        if not self._most:
            return await add()
        wanted = await self._reserved(items)
        stored = wanted
        """Whatever happens: what failed may be stored all the same, and the next look at the figures will tell."""
        try:
            answers = await add()
            created = zip(items, answers, strict=True)
            stored = _runs(item for item, added in created if added.kind is Addition.CREATED)
            return answers
        finally:
            self._adding.subtract(wanted)
            self._adding = +self._adding
            self._added.update(stored)

    async def _reserved(self, items: Sequence[_Item]) -> Counter[str]:
        await self._look()
        wanted = _runs(items)
        if self._excess(wanted):
            wanted = _runs(await self._new(items))
            await self._look()
        if excess := self._excess(wanted):
            raise excess
        self._adding.update(wanted)
        return wanted

    async def _look(self) -> None:
        """Ask the store if that was too long ago; whoever comes meanwhile waits for the same answer."""
        if self._recent():
            return
        async with self._asking:
            if self._recent():
                return
            asked_at = self._clock.monotonic()
            # What is answered from here on may be missing in the figures. It may also be in them, and is then counted
            # twice until they are read again: too few for a second, and never too many.
            self._added = Counter()
            live: Counter[str] = Counter()
            for tally in (await self._views.figures()).tallies:
                live[tally.owner] += tally.live
            self._live, self._asked_at = live, asked_at

    def _recent(self) -> bool:
        return self._asked_at is not None and self._clock.monotonic() - self._asked_at < BELIEVED

    def _excess(self, wanted: Counter[str]) -> QuotaExceeded | None:
        for owner, asked in wanted.items():
            live = self._live[owner] + self._added[owner] + self._adding[owner]
            if live + asked > self._most:
                return QuotaExceeded(live=live, quota=self._most, asked=asked)
        return None

    async def _new(self, items: Sequence[_Item]) -> Sequence[_Item]:
        """Those that the store may take as new: a repeated request must get its answer, however full it is."""
        keys: dict[str, dict[str, _Item]] = {}
        for item in items:
            if item.key is not None:
                keys.setdefault(_owner(item), {}).setdefault(item.key.text, item)
        new = [item for item in items if item.key is None]
        for owner, keyed in keys.items():
            taken = await self._views.keys_taken(owner, list(keyed))
            new += [item for key, item in keyed.items() if key not in taken]
        return new


def _runs(items: Iterable[_Item]) -> Counter[str]:
    return Counter(item.owner for item in items if isinstance(item, NewRun))


def _owner(item: _Item) -> str:
    return item.owner if isinstance(item, NewRun) else item.job.owner
