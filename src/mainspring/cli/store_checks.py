"""What `doctor` can see only with the store open: its schema, clocks, schedulers, handlers and the rule about keys."""

from collections.abc import Sequence
from datetime import timedelta

from mainspring.cli.cluster_checks import SKEW
from mainspring.cli.findings import Finding, fail, ok, remarked, warn
from mainspring.domain.job import JobState
from mainspring.errors import ConfigurationError, MainspringError
from mainspring.ports.sessions import Role
from mainspring.ports.views import Cursor, JobFilter
from mainspring.wiring.builtin import SWITCHABLE, builtin_handlers
from mainspring.wiring.network import check_host
from mainspring.wiring.resources import Resources

MOST_PAGES = 20
_PAGE = 500


async def checked(resources: Resources) -> Sequence[Finding]:
    """All of them."""
    return [
        ok("store", f"{resources.settings.shown_store} has schema {resources.store.schema}"),
        await _clock(resources),
        *await _examined(resources),
        await _access(resources),
        await _schedulers(resources),
        await _handlers(resources),
    ]


def not_there(shown: str) -> Finding:
    """A store that nobody has made yet."""
    return warn("store", f"{shown} isn't there yet", "'mainspring serve' or 'mainspring migrate' makes it")


def unusable(shown: str, error: MainspringError) -> Finding:
    """A store that can't be opened or doesn't answer."""
    return fail("store", f"{shown}: {error}", "correct that and look again")


async def _access(resources: Resources) -> Finding:
    settings = resources.settings
    keys = len(await resources.store.keys.list(None))
    try:
        check_host(settings, keyed=keys > 0)
    except ConfigurationError as error:
        return fail("access", str(error), "until then nothing that listens will start")
    if keys or settings.api_keys:
        return ok("access", f"{keys + len(settings.api_keys)} API keys exist, and one is needed")
    return ok("access", f"no API key exists, and none is needed on {settings.host}")


async def _clock(resources: Resources) -> Finding:
    """Whether our clock and the store's agree, give or take the way there and back."""
    before = resources.clock.now()
    theirs = await resources.store.views.now()
    after = resources.clock.now()
    skew = theirs - after if theirs > after else min(theirs - before, timedelta(0))
    if abs(skew) > SKEW:
        text = f"the store's clock differs from ours by {skew / timedelta(seconds=1):+.1f} s"
        return warn("clock", text, "let NTP set both; the store's decides what is due")
    return ok("clock", "the store's clock and ours agree")


async def _examined(resources: Resources) -> Sequence[Finding]:
    """What the store says about itself, where it has anything to say."""
    checkup = resources.store.checkup
    remarks = () if checkup is None else await checkup.examine()
    return [remarked(remark) for remark in remarks]


async def _schedulers(resources: Resources) -> Finding:
    members = await resources.store.sessions.live(Role.SCHEDULER)
    if not members:
        step = "start one with 'mainspring serve' or 'mainspring scheduler'"
        return warn("schedulers", "none is alive, so no schedule fires and nothing is rescued", step)
    wrong = [
        f"{member.name} by {member.skew / timedelta(seconds=1):+.1f} s" for member in members if abs(member.skew) > SKEW
    ]
    if wrong:
        return warn("schedulers", f"clocks differ from the store's: {', '.join(wrong)}", "let NTP set them")
    return ok("schedulers", f"{len(members)} alive: {', '.join(member.name for member in members)}")


async def _handlers(resources: Resources) -> Finding:
    """Whether every handler that a job needs was ever served by somebody."""
    everywhere = (await builtin_handlers(resources)).keys() - SWITCHABLE.keys()
    known = {*await resources.store.views.handlers(), *everywhere}
    missing: set[str] = set()
    cursor: Cursor | None = Cursor(limit=_PAGE)
    for _ in range(MOST_PAGES):
        if cursor is None:
            break
        page = await resources.store.views.jobs(JobFilter(states=frozenset({JobState.ACTIVE})), cursor)
        needed = (
            record.job.task.handler for record in page.items if record.run is None or not record.run.state.terminal
        )
        missing.update(handler for handler in needed if handler not in known)
        cursor = None if page.next is None else Cursor(before=page.next, limit=_PAGE)
    if missing:
        names = ", ".join(sorted(missing))
        step = "start a worker with --app for them, or with --allow-shell for shell commands"
        return warn("handlers", f"jobs need {names}, which no worker ever had", step)
    return ok("handlers", "workers have had every handler that the newest jobs need")
