"""What `doctor` says: one finding per line."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mainspring.ports.checkup import Remark


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


STYLES: Mapping[Level, str] = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    level: Level
    text: str
    step: str = ""
    """What to do about it; empty if it is well."""

    def as_json(self) -> Mapping[str, str]:
        """For programs."""
        return {"check": self.subject, "level": self.level, "detail": self.text, "next": self.step}


def ok(subject: str, text: str) -> Finding:
    """All is well."""
    return Finding(subject=subject, level=Level.OK, text=text)


def warn(subject: str, text: str, step: str) -> Finding:
    """It works, but somebody should know."""
    return Finding(subject=subject, level=Level.WARN, text=text, step=step)


def fail(subject: str, text: str, step: str) -> Finding:
    """It doesn't work like this."""
    return Finding(subject=subject, level=Level.FAIL, text=text, step=step)


def remarked(remark: Remark) -> Finding:
    """What a store or server says about itself."""
    if not remark.step:
        return ok(remark.subject, remark.text)
    return (fail if remark.endangers else warn)(remark.subject, remark.text, remark.step)
