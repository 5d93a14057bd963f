"""Running a process from its settings: what its roles are, and what is done before they begin."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from mainspring import descriptors
from mainspring.logs import get_logger
from mainspring.wiring.apps import Application, load_apps
from mainspring.wiring.duties import Duty
from mainspring.wiring.garbage import collect_seldom
from mainspring.wiring.logging import configure_logging
from mainspring.wiring.process import Process, Role
from mainspring.wiring.resources import Resources
from mainspring.wiring.roles import lookout_roles, scheduler_roles, space_role, worker_role
from mainspring.wiring.settings import Settings
from mainspring.wiring.starting import run_once_there

if TYPE_CHECKING:
    from mainspring.wiring.reception import Reception

log = get_logger("mainspring.process")


async def run_process(settings: Settings, duties: Collection[Duty], *, samples: bool = False) -> int:
    """Fulfil *duties* until told to stop, and return the exit code."""
    configure_logging(settings.log_format, settings.log_level)
    descriptors.raise_limit()
    process = Process()
    reception = _reception(settings, process, duties)

    async def begin(resources: Resources) -> Sequence[Role]:
        roles = await _roles(resources, process, duties, reception)
        if Duty.WORKER in duties:
            await declare_schedules(resources, load_apps(settings.apps))
        if samples:
            from mainspring.wiring.samples import add_samples  # noqa: PLC0415 - imported when it is needed

            await add_samples(resources)
        collect_seldom()
        log.info("process.started", roles=list(duties), store=settings.shown_store)
        await warn_of_the_store(resources)
        return roles

    try:
        apologise = None if reception is None else reception.apologise
        return await run_once_there(process, settings, begin, service=_service(duties), apologise=apologise)
    finally:
        if reception is not None:
            await reception.close()


def _service(duties: Collection[Duty]) -> str:
    """What traces call this process, unless the environment does."""
    return f"mainspring-{next(iter(duties))}" if len(duties) == 1 else "mainspring"


async def declare_schedules(resources: Resources, applications: Sequence[Application]) -> None:
    """Let the jobs in the store be what the code of *applications* says."""
    declared = [each for application in applications for each in application.declared()]
    if declared:
        # Few applications declare a schedule; the others start without loading a client.
        from mainspring.wiring.declared import declare  # noqa: PLC0415
        from mainspring.wiring.local import local_client  # noqa: PLC0415

        async with local_client(resources) as client:
            await declare(client, declared)


async def warn_of_the_store(resources: Resources) -> None:
    """Say at the start what `doctor` would say, for those who never ask it."""
    checkup = resources.store.checkup
    for remark in () if checkup is None else await checkup.examine():
        if remark.step:
            log.warning("store.remark", subject=remark.subject, text=remark.text, step=remark.step)


def _reception(settings: Settings, process: Process, duties: Collection[Duty]) -> "Reception | None":
    """None for a process that nobody can call."""
    if Duty.API not in duties and not settings.given("ports"):
        return None
    # A worker or a scheduler alone starts in half the time without all that answers requests.
    from mainspring.wiring.reception import Reception  # noqa: PLC0415

    return Reception.at(settings, process.stop, slots=settings.concurrency if Duty.WORKER in duties else 0)


async def _roles(
    resources: Resources, process: Process, duties: Collection[Duty], reception: "Reception | None"
) -> list[Role]:
    roles: list[Role] = []
    if Duty.SCHEDULER in duties:
        roles += await scheduler_roles(resources)
    if Duty.WORKER in duties:
        roles.append(await worker_role(resources))
    if Duty.API in duties:
        roles += await lookout_roles(resources)
    if reception is not None:
        roles.append(space_role(resources))
        from mainspring.wiring.listening import api_role, probes_role  # noqa: PLC0415 - see `_reception`

        listening = api_role if Duty.API in duties else probes_role
        roles.append(await listening(resources, reception, process.stop))
    return roles
