"""A one-shot job has no row of its own: it is its first run."""

from uuid import UUID

from mainspring.domain.ids import JobId, RunId
from mainspring.domain.job import Job, JobState, Terms
from mainspring.domain.run import Run, State


def job_of(run: Run) -> Job:
    """The job that *run* is; its spec has the fields that a run doesn't."""
    held = run.state is State.WAITING and run.wake_at is None
    return Job(
        id=JobId(run.id),
        owner=run.owner,
        project=run.project,
        name=run.name,
        key=run.key,
        task=run.task,
        terms=Terms(schedule="now") if run.spec is None else Terms.from_json(run.spec),
        state=JobState.PAUSED if held else JobState.ACTIVE,
        version=run.version,
        created_at=run.created_at,
        updated_at=run.finished_at or run.started_at or run.created_at,
        next_fire_at=run.wake_at if run.state is State.WAITING else None,
        active_run=RunId(run.id),
    )


def prominence(run: Run) -> tuple[bool, UUID]:
    """A job shows its newest live run, or else its newest."""
    return not run.state.terminal, run.id
