"""Headers and query parameters that several endpoints take."""

from typing import Annotated

from fastapi import Header
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from mainspring.api.caller import Caller
from mainspring.api.preconditions import Check, if_match
from mainspring.api.requests import PRINTABLE
from mainspring.domain.job import Job

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=PRINTABLE,
        description="Makes a repeated request harmless: the answer is that of the first.",
    ),
]
IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=1000,
        description='The ETag or version, like "3", that the job must have; 412 if it has another.',
    ),
]
IfNoneMatch = Annotated[
    str | None,
    Header(alias="If-None-Match", max_length=1000, description="The ETag of what is known: 304 if nothing changed."),
]
Text = Annotated[str, StringConstraints(max_length=1000)]


class PageQuery(BaseModel):
    """Which part of a list."""

    model_config = ConfigDict(extra="forbid")

    cursor: Annotated[str | None, Field(max_length=200, description="The `next` of the page before.")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="How many at most.")] = 50


def executing(caller: Caller, match: str | None = None) -> Check:
    """The check that a job must pass before *caller* may have it executed, or change what is executed."""
    touch = touching(caller, match)

    def check(job: Job) -> None:
        touch(job)
        caller.check_handler(job.task.handler)

    return check


def touching(caller: Caller, match: str | None = None) -> Check:
    """The check that a job must pass before *caller* may touch it."""
    matching = if_match(match)

    def check(job: Job) -> None:
        caller.check(job.owner, f"job {job.id}")
        matching(job)

    return check
