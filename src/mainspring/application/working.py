"""Running an application's worker, with a scheduler beside it."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial

from mainspring import descriptors
from mainspring.logs import get_logger
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

log = get_logger("mainspring.process")


@asynccontextmanager
async def running_beside(settings: Settings, application: Application) -> AsyncIterator[None]:
    """Run until the block ends, however it does; a part that fails interrupts the block.

    What the block or a part raises is raised as it is; only where several failed, they come as a group.
    """
    async with opened(settings, service=SERVICE) as resources:
        beside = _Beside(await _roles(application, resources))
        failed: BaseException | None = None
        try:
            try:
                yield
            finally:
                await beside.end()
        except BaseException as error:  # noqa: BLE001 - raised again below, unless it is our own interruption
            failed = error
        beside.report(failed)


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


class _Beside:
    """The tasks of some roles beside the block of the task that makes this."""

    def __init__(self, roles: Collection[Role]) -> None:
        block = asyncio.current_task()
        assert block is not None  # noqa: S101 - a coroutine that runs has a task
        self._block = block
        self._asked_before = block.cancelling()
        self._interrupted = False
        self._stop, self._hurry = asyncio.Event(), asyncio.Event()
        self._running = [asyncio.create_task(self._run(role), name=role.name) for role in roles]

    async def _run(self, role: Role) -> None:
        try:
            await role.run(self._stop, self._hurry)
            if not self._stop.is_set():
                raise RuntimeError(f"the role {role.name} ended by itself")
        finally:
            # Nobody does the work any more that the block may be waiting for.
            if not self._stop.is_set():
                self._stop.set()
                self._interrupted = True
                self._block.cancel()

    async def end(self) -> None:
        """Let the roles end in their own time; cancelled, end them at once."""
        self._stop.set()
        while pending := [task for task in self._running if not task.done()]:
            try:
                await asyncio.wait(pending)
            except asyncio.CancelledError:
                if self._block.cancelling() - self._interrupted > self._asked_before:
                    for task in pending:
                        task.cancel()
                    await asyncio.wait(pending)
                    raise

    def report(self, failed: BaseException | None) -> None:
        """Raise what went wrong, given what the block raised."""
        errors = [error for task in self._running if not task.cancelled() and (error := task.exception())]
        if self._interrupted and self._block.uncancel() <= self._asked_before:
            failed = None if isinstance(failed, asyncio.CancelledError) else failed
        if failed is not None and not isinstance(failed, Exception):
            # Somebody ends the block or the program: no failure of ours may stand in the way.
            for error in errors:
                log.error("role.failed", error=repr(error), exc_info=error)
            raise failed
        raised = [*([failed] if failed else []), *errors]
        if len(raised) > 1:
            raise BaseExceptionGroup("the block and the worker beside it failed", raised)
        if raised:
            raise raised[0]
