"""Standing jobs: those that fire again and again, or on demand. One-shot jobs are runs (see `run.NewRun`)."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any

from mainspring.domain.ids import DEFAULT_OWNER, DEFAULT_PROJECT, JobId, RunId, Version
from mainspring.domain.run import Key
from mainspring.domain.schedule import DaylightSaving, Fold, Gap, Schedule, parse
from mainspring.domain.task import Task


class JobState(IntEnum):
    """Whether a job fires; the numbers are what stores keep."""

    ACTIVE = 0
    PAUSED = 1
    DELETED = 2


class CatchUp(StrEnum):
    """Which of the moments that were missed by more than the grace still run."""

    LATEST = "latest"
    ALL = "all"
    NONE = "none"


class Overlap(StrEnum):
    """What happens to a moment whose job's previous run hasn't ended."""

    ALLOW = "allow"
    SKIP = "skip"
    WAIT = "wait"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfire:
    """Moments up to *grace* late all run; older ones by *policy*."""

    grace: timedelta = timedelta(seconds=60)
    policy: CatchUp = CatchUp.LATEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The fields of a job that no statement compares: kept together as one JSON text."""

    description: str = ""
    schedule: str = "on-demand"
    timezone: str = "UTC"
    starts_at: datetime | None = None
    misfire: Misfire = field(default_factory=Misfire)
    overlap: Overlap = Overlap.ALLOW
    dst: DaylightSaving = field(default_factory=DaylightSaving)
    allow_unknown_handler: bool = False

    def parsed(self) -> Schedule:
        """The schedule as a value."""
        return parse(self.schedule, timezone=self.timezone, dst=self.dst)

    def to_json(self) -> bytes:
        """The text that stores keep; only what differs from the defaults."""
        default = Terms()
        fields: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("description", "schedule", "timezone", "allow_unknown_handler", "overlap")
            if getattr(self, name) != getattr(default, name)
        }
        if self.starts_at is not None:
            fields["starts_at"] = self.starts_at.isoformat()
        if self.misfire != default.misfire:
            fields["misfire"] = [self.misfire.grace.total_seconds(), self.misfire.policy]
        if self.dst != default.dst:
            fields["dst"] = [self.dst.gap, self.dst.fold]
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, text: bytes) -> "Terms":
        """Read back what `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        if "starts_at" in fields:
            fields["starts_at"] = datetime.fromisoformat(fields["starts_at"])
        if "misfire" in fields:
            seconds, policy = fields["misfire"]
            fields["misfire"] = Misfire(grace=timedelta(seconds=seconds), policy=CatchUp(policy))
        if "overlap" in fields:
            fields["overlap"] = Overlap(fields["overlap"])
        if "dst" in fields:
            gap, fold = fields["dst"]
            fields["dst"] = DaylightSaving(gap=Gap(gap), fold=Fold(fold))
        return cls(**fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A standing job: what to run, when, and how far its timetable has come."""

    id: JobId
    task: Task
    created_at: datetime
    updated_at: datetime
    owner: str = DEFAULT_OWNER
    project: str = DEFAULT_PROJECT
    name: str = ""
    key: str | None = None
    terms: Terms = field(default_factory=Terms)
    state: JobState = JobState.ACTIVE
    version: Version = Version(1)
    next_fire_at: datetime | None = None
    """The first moment without a verdict; None for a job on demand and for one that has no more moments."""
    wake_at: datetime | None = None
    """When the planner must look: the next moment, or later while it waits for the active run to end."""
    active_run: RunId | None = None
    """The latest run that the timetable made; overlap is judged by whether it has ended."""

    @property
    def anchor(self) -> datetime:
        """The instant that `@every` counts from."""
        return self.terms.starts_at or self.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A standing job to be stored."""

    job: Job
    key: Key | None = None
