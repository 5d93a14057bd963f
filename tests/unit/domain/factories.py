"""Values for tests of the domain, each with one word where it matters."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from mainspring.domain.ids import Fence, JobId, RunId, SessionId
from mainspring.domain.job import CatchUp, Job, JobState, Misfire, Overlap, Terms
from mainspring.domain.run import Attempt
from mainspring.domain.task import Task

MIDNIGHT = datetime(2030, 1, 1, tzinfo=UTC)
JOB = JobId(UUID("0190a000-0000-7000-8000-000000000001"))
RUN = RunId(UUID("0190a000-0000-7000-8000-000000000002"))


def at(seconds: float) -> datetime:
    """That many seconds after midnight."""
    return MIDNIGHT + timedelta(seconds=seconds)


def terms(
    schedule: str = "@every 10s",
    *,
    grace: float = 60,
    policy: CatchUp = CatchUp.LATEST,
    overlap: Overlap = Overlap.ALLOW,
    starts_at: datetime | None = None,
) -> Terms:
    misfire = Misfire(grace=timedelta(seconds=grace), policy=policy)
    return Terms(schedule=schedule, misfire=misfire, overlap=overlap, starts_at=starts_at)


def job(
    the_terms: Terms | None = None,
    *,
    next_fire_at: datetime | None = None,
    active_run: RunId | None = None,
    state: JobState = JobState.ACTIVE,
) -> Job:
    """A job that was created at midnight."""
    return Job(
        id=JOB,
        task=Task(handler="report"),
        created_at=MIDNIGHT,
        updated_at=MIDNIGHT,
        owner="ann",
        project="books",
        name="nightly",
        terms=the_terms or terms(),
        state=state,
        next_fire_at=next_fire_at,
        wake_at=next_fire_at if state is JobState.ACTIVE else None,
        active_run=active_run,
    )


def attempt(
    *,
    number: int = 1,
    failures: int = 0,
    losses: int = 0,
    task: Task | None = None,
    log: bytes = b"",
    suspect: bool = False,
) -> Attempt:
    """A run in the hands of session 7 under fence 3, begun at midnight."""
    return Attempt(
        run_id=RUN,
        job_id=JOB,
        session=SessionId(7),
        fence=Fence(3),
        attempt=number,
        failures=failures,
        losses=losses,
        due_at=MIDNIGHT,
        started_at=MIDNIGHT,
        owner="ann",
        project="books",
        task=task or Task(handler="report"),
        worker="anvil",
        log=log,
        suspect=suspect,
    )
