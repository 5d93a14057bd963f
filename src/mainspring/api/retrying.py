"""Second chances: retrying an execution, and requeueing or discarding dead letters. The old run stays as it ended."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from mainspring.api.quota import Quota
from mainspring.api.steering import NONCE_BITS
from mainspring.api.stored import stored_run
from mainspring.domain.ids import RunId, derived_run_id
from mainspring.domain.run import Key, NewRun, Run, State
from mainspring.errors import KeyConflict, NotFound, WrongState
from mainspring.ports.time import Clock, Random
from mainspring.ports.tracing import UNTRACED, Tracing
from mainspring.ports.views import Cursor, DeadFilter, DeadLetter, Views
from mainspring.ports.work import Added, Addition, Work

_REQUEUE = "requeue"
_PAGE = 100
_AGAIN = frozenset({State.DEAD, State.CANCELLED})


class Retrying:
    """Makes new runs of old ones."""

    def __init__(
        self, *, work: Work, views: Views, clock: Clock, random: Random, quota: Quota, tracing: Tracing = UNTRACED
    ) -> None:
        self._work = work
        self._views = views
        self._clock = clock
        self._random = random
        self._quota = quota
        self._tracing = tracing

    async def retry(self, run: Run, key: str | None) -> tuple[Run, bool]:
        """Run it again as it was; a repeated *key* answers with the first retry, and False."""
        if run.state not in _AGAIN:
            raise WrongState(f"only what has failed or was cancelled can be retried, and this is {_word(run)}")
        idempotency = None if key is None else Key.apart("retry", key, hashlib.sha256(run.id.bytes).digest())
        distinction = f"{self._random.bits(NONCE_BITS):x}" if idempotency is None else idempotency.text
        new = self._traced(_again(run, distinction, self._clock.now(), idempotency))
        [added] = await self._quota.adding([new], lambda: self._work.add([new]))
        if added.kind is Addition.CONFLICT:
            raise KeyConflict(f"the key {key!r} was used to retry another execution; choose another key")
        return await self._stored(new, added), added.kind is Addition.CREATED

    async def requeue(self, run: Run) -> tuple[Run, bool]:
        """Run a dead letter again; repeating that answers with the first new run, and False."""
        if run.state is not State.DEAD:
            raise WrongState(f"only a dead letter can be requeued, and this is {_word(run)}")
        if not await self._listed(run):
            earlier = await self._views.run(_requeued(run).id)
            if earlier is None:
                raise WrongState("this dead letter was retried or discarded already")
            return earlier, False
        [(new, created)] = await self.requeue_all([run])
        return new, created

    async def requeue_all(self, runs: Sequence[Run]) -> Sequence[tuple[Run, bool]]:
        """Run dead letters again, all with one write; one that somebody else has requeued meanwhile isn't repeated."""
        items = [self._traced(_requeued(run)) for run in runs]
        answers = await self._quota.adding(items, lambda: self._work.add(items)) if items else ()
        return [
            (await self._stored(new, added), added.kind is Addition.CREATED)
            for new, added in zip(items, answers, strict=True)
        ]

    async def matching(self, where: DeadFilter, limit: int) -> tuple[Sequence[DeadLetter], bool]:
        """The newest dead letters that match, and whether there are more."""
        found: list[DeadLetter] = []
        cursor = Cursor(limit=min(limit, _PAGE))
        while True:
            page = await self._views.dead_letters(where, cursor)
            found.extend(page.items)
            if page.next is None or len(found) >= limit:
                return found[:limit], page.next is not None
            cursor = Cursor(before=page.next, limit=min(limit - len(found), _PAGE))

    async def discard(self, run: Run) -> None:
        """Take a dead letter off the list."""
        [discarded] = await self._work.discard([run.id])
        if not discarded:
            raise WrongState(f"only a dead letter can be discarded, once; this is {_word(run)}")

    def _traced(self, new: NewRun) -> NewRun:
        """Within the trace of whoever asks now: that of the old run has ended with it."""
        return replace(new, task=replace(new.task, trace=self._tracing.current()))

    async def _listed(self, run: Run) -> bool:
        just_before = Cursor(before=UUID(int=run.id.int + 1), limit=1)
        page = await self._views.dead_letters(DeadFilter(job_id=run.job_id), just_before)
        return [letter.run.id for letter in page.items] == [run.id]

    async def _stored(self, new: NewRun, added: Added) -> Run:
        if added.kind is Addition.CREATED and added.at is not None:
            return stored_run(new, added.at)
        run = await self._views.run(RunId(added.id))
        if run is None:
            raise NotFound(f"the execution {added.id} is gone")
        return run


def _requeued(run: Run) -> NewRun:
    """The only new run that a dead letter can become: its id follows from the old one, whoever asks and when."""
    return _again(run, _REQUEUE, run.finished_at or run.due_at, None)


def _again(run: Run, distinction: str, at: datetime, key: Key | None) -> NewRun:
    return NewRun(
        id=derived_run_id(run.id, distinction, at),
        job_id=run.job_id,
        task=run.task,
        due=timedelta(0),
        origin=run.id,
        owner=run.owner,
        project=run.project,
        name=run.name,
        key=key,
    )


def _word(run: Run) -> str:
    return run.state.name.lower()
