"""Handing verdicts over to the store, however long it is away, without letting one hold up the others.

A store may refuse a single verdict for what is in it, and with it every group that it is in. Whether that is so, or the
store is away, is told by a verdict on a run that there never was: a store that takes no offence at that one works.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from mainspring.domain.ids import RunId
from mainspring.domain.outcome import Settled, Verdict
from mainspring.errors import StoreError, StoreFull, StoreReadOnly
from mainspring.logs import get_logger
from mainspring.ports.time import Clock, Random
from mainspring.ports.work import Work
from mainspring.worker.backoff import Backoff

CHANCES = 3
"""How often a store must refuse a verdict, and take another meanwhile, until it is the verdict that is to blame."""
_CHANCE_BITS = 62
"""Of a run's id: those that tell nothing but it from others of its time."""

log = get_logger("mainspring.worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A verdict that the store doesn't take, though it takes others."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What came too late, and what the store refused; the rest was taken."""

    stale: Sequence[Verdict]
    refused: Sequence[Refused]


class Delivery:
    """Settles group by group; not for two groups at once."""

    def __init__(self, work: Work, clock: Clock, random: Random) -> None:
        self._work = work
        self._random = random
        self._backoff = Backoff(clock, random)

    async def settle(self, group: Sequence[Verdict]) -> Delivered:
        """Return once the store has answered all of *group* but those that it refuses, each for its own sake."""
        parts, chances = [group], CHANCES
        stale: list[Verdict] = []
        refused: list[Refused] = []
        while parts:
            part = parts.pop()
            error = await self._try(part, stale)
            if error is None:
                chances = CHANCES
                continue
            if not await self._takes_others(error, part[0]):
                parts.append(part)
            elif len(part) > 1:
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]
                continue
            elif (chances := chances - 1) == 0:
                refused.append(Refused(verdict=part[0], reason=str(error) or type(error).__name__))
                chances = CHANCES
                continue
            else:
                parts.append(part)
            await self._backoff.pause()
        return Delivered(stale=stale, refused=refused)

    async def _try(self, part: Sequence[Verdict], stale: list[Verdict]) -> Exception | None:
        try:
            answers = await self._work.settle(part)
        except StoreError as error:
            log.warning("settle.delayed", runs=len(part), error=str(error))
            return error
        except Exception as error:
            # A defect somewhere below. The verdicts are still the truth: keep them, loudly.
            log.exception("settle.failed", runs=len(part))
            return error
        if Settled.STALE in answers:
            stale += [each for each, answer in zip(part, answers, strict=True) if answer is Settled.STALE]
        self._backoff.reset()
        return None

    async def _takes_others(self, error: Exception, like: Verdict) -> bool:
        if isinstance(error, StoreFull | StoreReadOnly):
            return False  # it would take a verdict that changes nothing, and no other
        try:
            await self._work.settle([self._on_nobody(like)])
        except Exception:  # noqa: BLE001 - what matters is that it raised
            return False
        return True

    def _on_nobody(self, like: Verdict) -> Verdict:
        other = like.run_id.int ^ (self._random.bits(_CHANCE_BITS) | 1)
        nobody = RunId(UUID(int=other))
        return replace(like, run_id=nobody, result=None, blob=None, error=None, reason=None, log=b"")
