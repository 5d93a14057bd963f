# Written by scripts/write_blocking.py from src/mainspring/client/asynchronous/jobs.py. Don't edit.
"""Calls about jobs."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, Unpack
from uuid import UUID

from mainspring.client.blocking.calls import Calls
from mainspring.client.errors import Conflict, NotFound
from mainspring.client.models import Execution, Job
from mainspring.client.reading import read
from mainspring.client.requests import JobChanges, JobOptions, NewJob, When, changes_of, every, new_job, query

JobRef = Job | UUID | str
"""A job, or its id."""


class JobCalls(Calls):
    """Submitting, finding and steering jobs."""

    def submit(
        self,
        handler: str,
        payload: Any = None,
        *,
        schedule: When | None = None,
        key: str | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        """Store a job, once: a lost answer or a repeated *key* never makes a second one.

        Without a *schedule* it runs as soon as a worker is free; Conflict if *key* was used for another job.
        """
        return self.submit_new(new_job(handler, payload, schedule=schedule, key=key, **options))

    def submit_new(self, job: NewJob) -> Job:
        """Store a job that was made by `new_job`."""
        key = None if job.key is not None else _fresh_key()
        return read(Job, self._connection.post("/jobs", job.body, key=key))

    def schedule(
        self,
        handler: str,
        when: str | timedelta,
        payload: Any = None,
        *,
        key: str | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        """Store a job that runs again and again: *when* is a cron expression, or the interval."""
        schedule = every(when) if isinstance(when, timedelta) else when
        return self.submit(handler, payload, schedule=schedule, key=key, **options)

    def batch(self, jobs: Iterable[NewJob]) -> Sequence[Job]:
        """Store up to 10,000 jobs by one request: all of them or, if one is invalid, none."""
        token = _fresh_key()
        keyed = [job if job.key else job.with_key(f"{token}-{number}") for number, job in enumerate(jobs)]
        if not keyed:
            return []
        answer = self._connection.post("/jobs/batch", {"jobs": [job.body for job in keyed]})
        return [read(Job, each) for each in self._items(answer)]

    def job(self, job: JobRef) -> Job:
        """The job as it is now; NotFound if there is none."""
        return read(Job, self._connection.get(_path(job)))

    def jobs(
        self,
        *,
        status: str | None = None,
        handler: str | None = None,
        owner: str | None = None,
        project: str | None = None,
        name: str | None = None,
        key: str | None = None,
        text: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Job]:
        """Jobs, newest first, at most *limit*; further pages are fetched as they are needed."""
        params = query(status=status, handler=handler, owner=owner, project=project, name=name, key=key, q=text)
        for each in self._pages("/jobs", params, limit):
            yield read(Job, each)

    def update(self, job: JobRef, *, version: int | None = None, **changes: Unpack[JobChanges]) -> Job:
        """Change what is given and leave the rest; Conflict if the job isn't at *version* any more."""
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        return read(Job, self._connection.send("PUT", _path(job), body=changes_of(changes), headers=headers))

    def delete(self, job: JobRef) -> None:
        """Cancel what runs and hide the job; its history stays until it is pruned."""
        try:
            self._connection.send("DELETE", _path(job))
        except NotFound as error:
            if error.tries == 1:
                raise
            # An earlier try did it, and its answer was lost.

    def pause(self, job: JobRef) -> Job:
        """Let nothing fire until the job is resumed."""
        return read(Job, self._connection.post(_path(job, "pause")))

    def resume(self, job: JobRef) -> Job:
        """Fire again from now on; what was missed is skipped."""
        return read(Job, self._connection.post(_path(job, "resume")))

    def trigger(self, job: JobRef, *, key: str | None = None) -> Execution:
        """Run the job once now, beside its schedule; a repeated *key* answers with the first run."""
        return read(Execution, self._connection.post(_path(job, "trigger"), key=key or _fresh_key()))

    def cancel(self, job: JobRef) -> Job:
        """End every run that waits or runs; Conflict if there is none."""
        try:
            return read(Job, self._connection.post(_path(job, "cancel")))
        except Conflict as error:
            if error.tries == 1:
                raise
            return self.job(job)


def _path(job: JobRef, verb: str = "") -> str:
    identity = job.id if isinstance(job, Job) else UUID(str(job))
    return f"/jobs/{identity}" + (f"/{verb}" if verb else "")


def _fresh_key() -> str:
    """Made once per call and sent with every try."""
    return secrets.token_urlsafe(16)
