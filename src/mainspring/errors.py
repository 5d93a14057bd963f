"""Everything that Mainspring raises on purpose.

    MainspringError
    ├── ConfigurationError        the program can't start like this; the message says what to change
    ├── Invalid                   the request is wrong and will stay wrong
    │   ├── InvalidSchedule       … with the offending part of the schedule and its position
    │   ├── UnknownHandler        no worker ever registered that handler
    │   └── HandlerOff            it is built in, but the settings of every live worker switch it off
    ├── Forbidden                 the caller's key doesn't allow it
    ├── NotFound                  no such job, run, lock or key (or it belongs to somebody else)
    ├── Conflict                  the request is right, but the world has moved
    │   ├── VersionConflict       somebody else changed the job first
    │   ├── KeyConflict           the idempotency key was used for another body
    │   └── WrongState            a finished run can't be cancelled, a running one can't be retried …
    ├── SessionLost               the session was buried or closed: hold nothing, open a new one
    ├── Exhausted                 this process lacks descriptors, memory, threads or disk: nothing has begun
    └── StoreError                the store said no
        ├── StoreUnavailable      not reachable or busy for too long: the outcome is unknown, try again
        ├── StoreFull             no space left; nothing of the batch was stored
        ├── StoreReadOnly         the file or folder can't be written
        ├── StoreCorrupt          the file is damaged or isn't a Mainspring store
        └── SchemaTooNew          written by a newer Mainspring

Driver errors never pass an adapter: each is translated into one of these at its edge. A stale fence is not an
exception but an answer of `settle`, because a late worker is ordinary.
"""

import errno
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from types import MappingProxyType
from typing import Final

_COMPARED, _COMPARED_LENGTH = 200, 100
"""How many handlers a name that nobody knows is compared with, and how much of it: whoever sends it decides both."""


class MainspringError(Exception):
    """The root of all errors that are raised on purpose."""


class ConfigurationError(MainspringError):
    """The program can't start like this; the message says what to change."""


class Invalid(MainspringError):
    """The request is wrong and will stay wrong."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class InvalidSchedule(Invalid):
    """A schedule that can't be understood or never fires; `part` starts at `position` of `text`."""

    def __init__(self, message: str, *, text: str, part: str = "", position: int = 0) -> None:
        super().__init__(message, field="schedule")
        self.text = text
        self.part = part
        self.position = position


class UnknownHandler(Invalid):
    """No worker ever registered that handler."""

    def __init__(self, handler: str, known: Iterable[str] = ()) -> None:
        close = get_close_matches(handler[:_COMPARED_LENGTH], islice(known, _COMPARED), n=1)
        advice = f"did you mean {close[0]!r}?" if close else "start one, or set allow_unknown_handler"
        super().__init__(f"no worker has ever registered the handler {handler!r}; {advice}", field="handler")
        self.handler = handler


class HandlerOff(Invalid):
    """The handler is built in, but the settings of every live worker switch it off."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="handler")


class Forbidden(MainspringError):
    """The caller's key doesn't allow it; one with a wider scope would."""


class NotFound(MainspringError):
    """No such job, run, lock or key, or it belongs to somebody else."""


class Conflict(MainspringError):
    """The request is right, but the world has moved."""


class VersionConflict(Conflict):
    """Somebody else changed the job first."""


class KeyConflict(Conflict):
    """The idempotency key was used for another body."""


class WrongState(Conflict):
    """The state of the job or run doesn't allow it."""


class SessionLost(MainspringError):
    """The session was buried or closed: hold nothing, open a new one."""


class Exhausted(MainspringError):
    """This process lacks what it needs to begin something: no fault of what was to begin, and nothing of it has."""

    def __init__(self, lack: str, detail: str) -> None:
        super().__init__(f"this process is short of {lack}: {detail}")
        self.lack = lack


_LACKS: Final[Mapping[int, str]] = MappingProxyType(
    {
        errno.EMFILE: "file descriptors",
        errno.ENFILE: "file descriptors",
        errno.ENOMEM: "memory",
        errno.EAGAIN: "processes or threads",
        errno.ENOSPC: "room on a disk",
    }
)
LACKS: Final = ("file descriptors", "memory", "processes or threads", "room on a disk")


def exhaustion(error: BaseException) -> Exhausted | None:
    """What *error*, met while something was to begin on our own behalf, says that this process lacks; else None."""
    if isinstance(error, Exhausted):
        return error
    if isinstance(error, OSError) and error.errno is not None and error.errno in _LACKS:
        return Exhausted(_LACKS[error.errno], error.strerror or type(error).__name__)
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return Exhausted(_LACKS[errno.EAGAIN], str(error))
    return None


class StoreError(MainspringError):
    """The store said no."""


class StoreUnavailable(StoreError):
    """Not reachable or busy for too long: the outcome is unknown, try again."""


class StoreFull(StoreError):
    """No space left; nothing of the batch was stored."""


class StoreReadOnly(StoreError):
    """The file or folder can't be written."""


class StoreCorrupt(StoreError):
    """The file is damaged or isn't a Mainspring store."""


class SchemaTooNew(StoreError):
    """The store was written by a newer Mainspring."""
