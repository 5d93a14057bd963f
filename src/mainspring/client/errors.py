"""Everything that the client raises on purpose.

ClientError
├── ApiError                  the server answered, and said no
│   ├── Invalid               400, 413, 415, 422: the request is wrong and will stay wrong; `field` says where
│   ├── Unauthorized          401, 403: no key, a wrong one, or one that may not do this
│   ├── NotFound              404: there is no such thing, or it is somebody else's
│   ├── Conflict              409, 412: the request is right, but the world has moved
│   ├── TooManyRequests       429: `retry_after` says when to come again
│   └── Unavailable           5xx: the server can't at the moment
│       └── Unreachable       no answer came at all: whether the request arrived is unknown
├── UnexpectedAnswer          the answer isn't what the contract says: this isn't a Mainspring, or another version
├── JobFailed                 the job whose result was awaited has failed for good
│   └── JobCancelled          … or was cancelled or skipped
├── ResultTimeout             the result didn't come in time; the job goes on
├── LockBusy                  somebody else held the lock all the while
└── LockLost                  the lock couldn't be renewed in time: somebody else may hold it by now
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from mainspring.errors import MainspringError

if TYPE_CHECKING:
    from mainspring.client.models import Execution


class ClientError(MainspringError):
    """The root of what the client raises on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem document (RFC 9457) as the server sent it."""

    status: int
    code: str = ""
    """A short word that programs can rely on, like `idempotency_conflict`."""
    title: str = ""
    detail: str = ""
    field: str | None = None
    """The field of the request that is wrong, if it is one."""
    errors: Sequence[Mapping[str, Any]] = ()
    """All that is wrong, one entry per field."""
    retry_after: timedelta | None = None
    members: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The whole document."""


class ApiError(ClientError):
    """The server answered, and said no."""

    def __init__(self, problem: Problem, *, tries: int = 1) -> None:
        super().__init__(problem.detail or problem.title or f"the server answered {problem.status}")
        self.problem = problem
        self.tries = tries
        """How often the request was sent: if more than once, an earlier one may have had its effect."""

    @property
    def status(self) -> int:
        """The HTTP status; 0 if no answer came."""
        return self.problem.status

    @property
    def code(self) -> str:
        """A short word that programs can rely on, like `idempotency_conflict`."""
        return self.problem.code

    @property
    def field(self) -> str | None:
        """The field of the request that is wrong, if it is one."""
        return self.problem.field

    @property
    def retry_after(self) -> timedelta | None:
        """How long the server wants to be left alone."""
        return self.problem.retry_after


class Invalid(ApiError):
    """The request is wrong and will stay wrong."""


class Unauthorized(ApiError):
    """No key, a wrong one, or one that may not do this."""


class NotFound(ApiError):
    """There is no such thing, or it is somebody else's."""


class Conflict(ApiError):
    """The request is right, but the world has moved."""


class TooManyRequests(ApiError):
    """The quota is used up for now."""


class Unavailable(ApiError):
    """The server can't at the moment."""


class Unreachable(Unavailable):
    """No answer came at all: whether the request arrived is unknown."""

    def __init__(self, url: str, cause: str, *, tries: int) -> None:
        times = "" if tries == 1 else f" (tried {tries} times)"
        super().__init__(
            Problem(status=0, code="unreachable", detail=f"no answer from {url}: {cause}{times}"), tries=tries
        )


class UnexpectedAnswer(ClientError):
    """The answer isn't what the contract says: this isn't a Mainspring, or another version of it."""


class JobFailed(ClientError):
    """The job whose result was awaited has failed for good."""

    def __init__(self, message: str, execution: "Execution") -> None:
        super().__init__(message)
        self.execution = execution
        self.error = execution.error
        """What the handler raised, in words."""


class JobCancelled(JobFailed):
    """The job was cancelled or skipped, so that no result will come."""


class ResultTimeout(ClientError, TimeoutError):
    """The result didn't come in time; the job goes on."""


class LockBusy(ClientError):
    """Somebody else held the lock all the while."""

    def __init__(self, name: str, holder: str | None) -> None:
        super().__init__(f"the lock {name!r} is held by {holder or 'somebody else'}")
        self.name = name
        self.holder = holder


class LockLost(ClientError):
    """The lock couldn't be renewed in time: somebody else may hold it by now."""


_KINDS: Mapping[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Unauthorized,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: TooManyRequests,
}
_FIRST_SERVER_ERROR = 500


def error_of(problem: Problem, *, tries: int) -> ApiError:
    """The exception that stands for a problem document."""
    kind = Unavailable if problem.status >= _FIRST_SERVER_ERROR else _KINDS.get(problem.status, ApiError)
    return kind(problem, tries=tries)
