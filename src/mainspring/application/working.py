"""Running an application's worker, with a scheduler beside it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from mainspring import descriptors
from mainspring.wiring.apps import Application
from mainspring.wiring.logging import configure_logging
from mainspring.wiring.process import Process, Role
from mainspring.wiring.resources import Resources, opened
from mainspring.wiring.roles import scheduler_roles, worker_role
from mainspring.wiring.running import declare_schedules
from mainspring.wiring.settings import Settings
from mainspring.wiring.starting import run_once_there

SERVICE = "mainspring-worker"
"""What traces call this process, unless the environment does."""


@asynccontextmanager
async def running_beside(settings: Settings, application: Application) -> AsyncIterator[None]:
    """Run until the block ends, however it does; a part that fails interrupts the block."""
    async with opened(settings, service=SERVICE) as resources:
        roles = await _roles(application, resources)
        stop, hurry = asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(_run(role, stop, hurry), name=role.name) for role in roles]
            try:
                yield
            finally:
                stop.set()
                await asyncio.gather(*running, return_exceptions=True)


async def run_in_foreground(settings: Settings, application: Application) -> None:
    """Run until a signal comes; RuntimeError if a part failed, which the log describes."""
    configure_logging(settings.log_format, settings.log_level)
    descriptors.raise_limit()
    if await run_once_there(Process(), settings, partial(_roles, application), service=SERVICE) != 0:
        raise RuntimeError("the worker failed; the log says why")


async def _roles(application: Application, resources: Resources) -> list[Role]:
    roles = [*await scheduler_roles(resources), await worker_role(resources, [application])]
    await declare_schedules(resources, [application])
    return roles


async def _run(role: Role, stop: asyncio.Event, hurry: asyncio.Event) -> None:
    await role.run(stop, hurry)
