"""What a recurring schedule does when the clocks of its zone change."""

from dataclasses import dataclass
from enum import StrEnum


class Gap(StrEnum):
    """What becomes of a local time that the clocks jump over."""

    NEXT_VALID = "next_valid"
    SKIP = "skip"


class Fold(StrEnum):
    """What becomes of a local time that the clocks show twice."""

    FIRST = "first"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaylightSaving:
    """A job's policy: by default a moment in a gap fires as the gap ends, one in a fold at its first occurrence."""

    gap: Gap = Gap.NEXT_VALID
    fold: Fold = Fold.FIRST


ELAPSED = DaylightSaving(gap=Gap.SKIP, fold=Fold.BOTH)
"""Follow elapsed time: each instant counts whose local time matches, and no other."""
