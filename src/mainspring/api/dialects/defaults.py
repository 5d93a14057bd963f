"""What a job gets that was created with `schedule` and says nothing about its retries."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """As the settings of the process that takes the job say."""

    max_attempts: int = 3
    """All attempts, the first included."""
    backoff_base: timedelta = timedelta(seconds=1)
    backoff_max: timedelta = timedelta(seconds=60)


DEFAULTS = Defaults()
