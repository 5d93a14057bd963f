"""What the exit code says, and the one sentence that goes with it."""

from enum import IntEnum
from typing import TYPE_CHECKING

from mainspring.errors import (
    ConfigurationError,
    Conflict,
    Invalid,
    MainspringError,
    NotFound,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from mainspring.client.errors import ApiError

INTERRUPTED = 130
"""What shells say of a program that Ctrl-C ended."""


class Exit(IntEnum):
    """Scripts rely on these."""

    OK = 0
    FAILED = 1
    USAGE = 2
    MISSING = 3
    REFUSED = 4
    UNAUTHORIZED = 5
    UNREACHABLE = 6


MEANINGS = {
    Exit.OK: "done; `serve` and its like were asked to stop and did",
    Exit.FAILED: "it failed: the job that was waited for, a check of `doctor`, a line of `import`, the store, a part "
    "of the process",
    Exit.USAGE: "wrong flags, arguments, settings or fields: trying again won't help",
    Exit.MISSING: "there is no such job, execution, dead letter, lock or key",
    Exit.REFUSED: "refused as things stand: a conflict, a lock that somebody holds, a quota",
    Exit.UNAUTHORIZED: "no API key, a wrong one, or one that doesn't allow this",
    Exit.UNREACHABLE: "the server doesn't answer, or can't at the moment: trying again may help",
}

_OURS: tuple[tuple[type[MainspringError], Exit], ...] = (
    (ConfigurationError, Exit.USAGE),
    (Invalid, Exit.USAGE),
    (NotFound, Exit.MISSING),
    (Conflict, Exit.REFUSED),
    (StoreUnavailable, Exit.UNREACHABLE),
)


_START = "start a server with 'mainspring serve', name another with --url, or use --data DIR without one"
_SHOW_KEY = "here by --api-key or MAINSPRING_KEY"
_NO_KEY = 401


def explained(error: MainspringError) -> tuple[Exit, str]:
    """The exit code for an error, and what to tell whoever typed the command."""
    for kind, code in _OURS:
        if isinstance(error, kind):
            return code, str(error)
    from mainspring.client import errors  # noqa: PLC0415 - imported when it is needed

    if isinstance(error, errors.LockBusy):
        return Exit.REFUSED, str(error)
    if isinstance(error, errors.ApiError):
        return _answered(error)
    return Exit.FAILED, str(error)


def _answered(error: "ApiError") -> tuple[Exit, str]:
    from mainspring.client import errors  # noqa: PLC0415 - imported when it is needed

    said = _faults(error)
    for kind, code, advice in (
        (errors.Unreachable, Exit.UNREACHABLE, _START),
        (errors.Unavailable, Exit.UNREACHABLE, "'mainspring doctor' looks for the reason"),
        (errors.Invalid, Exit.USAGE, ""),
        (errors.NotFound, Exit.MISSING, ""),
        (errors.Conflict, Exit.REFUSED, ""),
        (errors.TooManyRequests, Exit.REFUSED, ""),
        (errors.Unauthorized, Exit.UNAUTHORIZED, _SHOW_KEY if error.status == _NO_KEY else ""),
    ):
        if isinstance(error, kind):
            return code, f"{said}; {advice}" if advice else said
    return Exit.FAILED, said


def _faults(error: "ApiError") -> str:
    """The server's own words, with the fields that it means."""
    if error.problem.errors:
        return "; ".join(f"{each.get('field', 'body')}: {each.get('detail', '')}" for each in error.problem.errors)
    detail = str(error)
    named = error.field is None or detail.startswith(error.field)
    return detail if named else f"{error.field}: {detail}"
