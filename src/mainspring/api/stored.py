"""What a store shows right after it has stored something, worked out without reading it back."""

from datetime import datetime, timedelta

from mainspring.domain.ids import Fence, JobId, RunId, Version
from mainspring.domain.job import Job, NewJob, Terms
from mainspring.domain.run import NewRun, Run, State
from mainspring.ports.views import JobRecord

PLAIN = Terms(schedule="now")


def stored_record(item: NewRun | NewJob, at: datetime) -> JobRecord:
    """The job that *item* became at the store's *at*: a standing one, or a one-shot that is its first run."""
    if isinstance(item, NewJob):
        return JobRecord(job=item.job, run=None)
    run = stored_run(item, at)
    job = Job(
        id=JobId(run.id),
        task=run.task,
        created_at=at,
        updated_at=at,
        owner=run.owner,
        project=run.project,
        name=run.name,
        key=run.key,
        terms=PLAIN if run.spec is None else Terms.from_json(run.spec),
        next_fire_at=run.wake_at,
        active_run=RunId(run.id),
    )
    return JobRecord(job=job, run=run)


def stored_run(new: NewRun, at: datetime) -> Run:
    """The waiting run that *new* became at the store's *at*."""
    due = at + new.due if isinstance(new.due, timedelta) else new.due
    return Run(
        id=new.id,
        job_id=new.job_id,
        origin=new.origin,
        owner=new.owner,
        project=new.project,
        name=new.name,
        key=None if new.key is None else new.key.text,
        spec=new.spec,
        task=new.task,
        state=State.WAITING,
        created_at=at,
        version=Version(1),
        due_at=due,
        wake_at=due,
        fence=Fence(0),
        attempt=0,
        failures=0,
        losses=0,
        worker=None,
        started_at=None,
        finished_at=None,
        cancelling=False,
        result=None,
        result_blob=None,
        error=None,
        reason=None,
        skipped_to=None,
        skipped_count=None,
        log=b"",
    )
