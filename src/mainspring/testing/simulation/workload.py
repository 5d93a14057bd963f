"""What clients want: jobs of every kind, and then second thoughts about them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from mainspring.domain.ids import RANDOM_BITS, JobId, Lane, RunId, derived_run_id, new_job_id
from mainspring.domain.job import CatchUp, Job, Misfire, NewJob, Overlap, Terms
from mainspring.domain.reschedule import deleted, edited, paused, resumed, scheduled
from mainspring.domain.retry import Backoff, RetryPolicy
from mainspring.domain.run import Key, NewRun
from mainspring.domain.task import Task
from mainspring.ports.signals import TIMETABLE, lane_topic
from mainspring.ports.views import Cursor, DeadFilter
from mainspring.ports.work import Addition, Cancel, Edit, Hold, Release
from mainspring.testing.simulation.client import Client, GaveUp
from mainspring.testing.simulation.handlers import IN_CHILD, IN_LOOP, IN_THREAD, LANES

_SCHEDULES = (
    "*/2 * * * * *",
    "*/5 * * * * *",
    "1-59/7 * * * * *",
    "@every 2s",
    "@every 3s",
    "@every 8s",
    "0 * * * * *",
)
_MOST_STANDING = 3


@dataclass(slots=True)
class Ledger:
    """What the clients of one schedule know of, in the order in which they came to know it."""

    runs: list[RunId] = field(default_factory=list)
    jobs: list[JobId] = field(default_factory=list)
    submissions: list[list[NewRun | NewJob]] = field(default_factory=list)
    standing: int = 0


class Workload:
    """One client's wishes, one after the other."""

    def __init__(self, client: Client, ledger: Ledger, owner: str) -> None:
        self._client = client
        self._ledger = ledger
        self._owner = owner
        self._random: Random = client.random
        self._keys = 0
        self._wants_locks = self._random.choice((0.1, 0.1, 0.6))
        """Which share of the runs needs the one resource: where it is large, several ask for its lock at once."""

    async def run(self, actions: int, pace: float) -> None:
        """Have so many wishes, *pace* seconds apart in the mean."""
        wishes: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (8, self._submit),
            (3, self._submit_standing),
            (3, self._submit_again),
            (2, self._trigger),
            (3, self._cancel),
            (2, self._hold),
            (2, self._release),
            (2, self._edit_run),
            (2, self._pause),
            (2, self._resume),
            (4, self._edit_job),
            (1, self._delete),
            (2, self._requeue),
            (1, self._discard),
        ]
        weights = [weight for weight, _ in wishes]
        chosen = [self._submit_standing, *(wish for _, wish in self._random.choices(wishes, weights, k=actions))]
        for wish in chosen:
            await asyncio.sleep(self._random.expovariate(1 / pace))
            try:
                await wish()
            except GaveUp:
                continue

    async def _submit(self) -> None:
        size = self._random.choice((1, 1, 2, 3, 8))
        now = await self._client.ask("views.now")
        await self._add([self._one_shot(now) for _ in range(size)])

    async def _submit_standing(self) -> None:
        if self._ledger.standing >= _MOST_STANDING:
            await self._submit()
            return
        self._ledger.standing += 1
        now = await self._client.ask("views.now")
        job = Job(
            id=self._id(now),
            task=self._task(busy=0.3),
            created_at=now,
            updated_at=now,
            owner=self._owner,
            terms=Terms(
                schedule=self._random.choice((*_SCHEDULES, "on-demand")),
                overlap=self._random.choice(tuple(Overlap)),
                misfire=Misfire(
                    grace=timedelta(seconds=self._random.choice((0, 0, 1, 3, 60))),
                    policy=self._random.choice(tuple(CatchUp)),
                ),
            ),
        )
        await self._add([NewJob(job=scheduled(job, now), key=self._key())])

    async def _submit_again(self) -> None:
        """A repetition that nobody asked for: a proxy's retry, a user's double click."""
        if self._ledger.submissions:
            await self._client.ask("work.add", self._random.choice(self._ledger.submissions))

    async def _trigger(self) -> None:
        job_id = self._some(self._ledger.jobs)
        record = None if job_id is None else await self._client.ask("views.job", job_id)
        if record is not None:
            nonce = f"{self._random.getrandbits(64):x}"
            now = await self._client.ask("views.now")
            run = NewRun(
                id=derived_run_id(record.job.id, nonce, now),
                job_id=record.job.id,
                task=record.job.task,
                owner=self._owner,
            )
            await self._add([run])

    async def _cancel(self) -> None:
        await self._steer(Cancel())

    async def _hold(self) -> None:
        await self._steer(Hold())

    async def _release(self) -> None:
        await self._steer(Release())

    async def _edit_run(self) -> None:
        due = timedelta(seconds=self._random.choice((0, 1, 5)))
        await self._steer(Edit(task=self._task(), due=self._random.choice((None, due))))

    async def _steer(self, order: Any) -> None:
        run = self._some(self._ledger.runs)
        if run is not None:
            await self._client.ask("work.steer", run, order)

    async def _pause(self) -> None:
        await self._change(lambda job, _: (paused(job), ()))

    async def _resume(self) -> None:
        await self._change(resumed)

    async def _edit_job(self) -> None:
        schedule, task = self._random.choice((*(None,) * 7, *_SCHEDULES)), self._task(busy=0.3)

        def edit(job: Job, now: datetime) -> Any:
            terms = job.terms if schedule is None else replace(job.terms, schedule=schedule)
            return edited(job, replace(job, task=task, terms=terms), now)

        await self._change(edit)

    async def _delete(self) -> None:
        await self._change(lambda job, _: (deleted(job), ()))

    async def _change(self, change: Any) -> None:
        job = self._some(self._ledger.jobs)
        if job is not None:
            await self._client.change(job, change)
            await self._client.notify([TIMETABLE])

    async def _requeue(self) -> None:
        letters = await self._client.ask("views.dead_letters", DeadFilter(), Cursor(limit=5))
        if letters.items:
            dead = self._random.choice(letters.items).run
            run = NewRun(
                id=derived_run_id(dead.id, "requeue", dead.created_at),
                job_id=dead.job_id,
                task=dead.task,
                origin=dead.id,
                owner=dead.owner,
            )
            await self._add([run])

    async def _discard(self) -> None:
        letters = await self._client.ask("views.dead_letters", DeadFilter(), Cursor(limit=5))
        if letters.items:
            await self._client.ask("work.discard", [self._random.choice(letters.items).run.id])

    async def _add(self, items: list[NewRun | NewJob]) -> None:
        self._ledger.submissions.append(items)
        together = self._random.random() < 0.3
        answers = await self._client.ask("work.add", items, together=together)
        for item, added in zip(items, answers, strict=True):
            if added.kind not in {Addition.CREATED, Addition.EXISTING}:
                continue
            if isinstance(item, NewJob):
                if added.id == item.job.id:  # otherwise its key stands for a one-shot
                    self._ledger.jobs.append(item.job.id)
                await self._client.notify([TIMETABLE])
            else:
                self._ledger.runs.append(RunId(added.id))
                await self._client.notify([lane_topic(item.task.lane)])

    def _one_shot(self, now: datetime) -> NewRun:
        identity = self._id(now)
        delay = timedelta(seconds=self._random.choice((0, 0, 0, 0.5, 2, 10)))
        due: datetime | timedelta = self._random.choice((delay, now + delay, now - delay))
        task = self._task()
        return NewRun(
            id=RunId(identity), job_id=identity, task=task, due=due, owner=self._owner, key=self._key(task.payload)
        )

    def _key(self, body: bytes = b"") -> Key | None:
        """None, a new one, or one that was used before: by the same body or by another."""
        draw = self._random.random()
        if draw < 0.6:
            return None
        if draw < 0.9 or not self._keys:
            self._keys += 1
            return Key(text=f"key-{self._keys}", body=body)
        return Key(text=f"key-{self._random.randint(1, self._keys)}", body=body)

    def _task(self, busy: float = 1.0) -> Task:
        random = self._random
        handler = random.choices((IN_LOOP, IN_THREAD, IN_CHILD), (8, 2, 1))[0]
        ways = (
            ("error", "error", "abandon", "later") if handler == IN_CHILD else ("error", "abandon", "snooze", "later")
        )
        behaviour: dict[str, Any] = {
            "takes": busy * random.choice((0, 0, 0.01, 0.2, 1, 3)),
            "fails": random.choice((0, 0, 0, 1, 2, 9)),
            "as": random.choice(ways),
            "stubborn": random.random() < 0.05,
            "kills": random.random() < 0.02,
            "locks": random.random() < self._wants_locks,
            "returns": random.choice((None, None, 7, "x" * 5000)),
        }
        if behaviour["as"] == "snooze":
            behaviour["fails"] = min(behaviour["fails"], 2)
        retry = RetryPolicy(
            max_retries=random.choice((0, 1, 2, 3)),
            kind=random.choice(tuple(Backoff)),
            initial=timedelta(seconds=random.choice((0.1, 0.5, 2))),
            maximum=timedelta(seconds=4),
            jitter=random.choice((0.0, 0.5)),
        )
        return Task(
            handler=handler,
            payload=json.dumps(behaviour).encode(),
            lane=Lane(LANES[handler]),
            priority=random.choice((0, 50, 50, 100)),
            timeout=timedelta(seconds=random.choice((0.5, 2, 5))),
            retry=retry,
        )

    def _id(self, now: datetime) -> JobId:
        return new_job_id(now, self._random.getrandbits(RANDOM_BITS))

    def _some(self, items: list[Any]) -> Any:
        return self._random.choice(items[-10:]) if items else None
