"""Schedules that stand in code: made when a worker starts, changed when the code has changed, once however often."""

from collections.abc import Mapping, Sequence
from typing import Any

from mainspring.client import Client, Job
from mainspring.client.errors import Conflict, NotFound
from mainspring.client.requests import JobChanges
from mainspring.logs import get_logger
from mainspring.wiring.declaration import Declared

log = get_logger("mainspring.process")

NEVER = "on-demand"
"""What the schedule of a job becomes whose function has none any more: the job and its history stay."""


async def declare(client: Client, declared: Sequence[Declared]) -> None:
    """Let the jobs in the store be what the code says."""
    for each in declared:
        try:
            await (_withdraw(client, each) if each.schedule is None else _ensure(client, each, each.schedule))
        except NotFound:
            log.warning("schedule.deleted", handler=each.handler, key=each.key)


async def _ensure(client: Client, declared: Declared, schedule: str) -> None:
    try:
        job = await client.submit(
            declared.handler, declared.payload, schedule=schedule, key=declared.key, **declared.options
        )
    except Conflict:
        # The key was used for what the code said before.
        found = await _found(client, declared.key)
        if found is None:
            log.warning("schedule.deleted", handler=declared.handler, key=declared.key)
            return
        job = found
    changes = _differences(job, {**declared.options, "payload": declared.payload, "schedule": schedule})
    if changes:
        await client.update(job, **changes)
        log.info("schedule.changed", handler=declared.handler, fields=sorted(changes))


async def _withdraw(client: Client, declared: Declared) -> None:
    job = await _found(client, declared.key)
    if job is not None and job.schedule != NEVER:
        await client.update(job, schedule=NEVER)
        log.info("schedule.withdrawn", handler=declared.handler)


async def _found(client: Client, key: str) -> Job | None:
    return next(iter([job async for job in client.jobs(key=key, limit=1)]), None)


def _differences(job: Job, wanted: Mapping[str, Any]) -> JobChanges:
    changes = JobChanges()
    changes.update({name: value for name, value in wanted.items() if getattr(job, name) != value})  # type: ignore[typeddict-item]  # the names are those of the options
    return changes
