"""Which of our errors stands for one of the driver's or the servers'."""

from cassandra import (
    AuthenticationFailed,
    CoordinationFailure,
    DriverException,
    InvalidRequest,
    OperationTimedOut,
    Timeout,
    Unauthorized,
    Unavailable,
    UnresolvableContactPoints,
)
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.protocol import ErrorMessage, SyntaxException

from mainspring.adapters.cassandra.rows import UnknownOutcome
from mainspring.errors import (
    ConfigurationError,
    MainspringError,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

THEIRS = (DriverException, NoHostAvailable, ConnectionException, ErrorMessage, OSError)
"""All that the driver may raise."""

_NEVER_SENT = (NoHostAvailable, InvalidRequest, SyntaxException, Unauthorized, AuthenticationFailed)
"""Nothing can have come of it: no node was asked, or none began. That too few nodes are up isn't among them: they may
have been enough to agree, and too few only when it came to telling the others."""

_DISK_IS_FULL = "disk usage exceeds failure threshold"
"""What nodes say whose guardrail for full disks is set; without it they fail in ways that tell nothing."""

_Table = tuple[tuple[tuple[type[BaseException], ...], type[MainspringError], str], ...]

_TRANSLATIONS: _Table = (
    (
        (AuthenticationFailed,),
        ConfigurationError,
        "refuses the connection: check user and password in the URL",
    ),
    (
        (Unauthorized,),
        StoreReadOnly,
        "doesn't allow it: the user of the URL needs SELECT and MODIFY on the keyspace, and CREATE to migrate it",
    ),
    (
        (UnresolvableContactPoints,),
        StoreUnavailable,
        "can't be found: check the names of the hosts in the URL",
    ),
    (
        (InvalidRequest, SyntaxException),
        StoreCorrupt,
        "lacks parts of the schema, or isn't what the URL says: run `mainspring migrate`, or choose another keyspace",
    ),
    ((Unavailable,), StoreUnavailable, "has too few nodes up for a quorum just now"),
    ((Timeout, OperationTimedOut), StoreUnavailable, "took too long to answer"),
    ((CoordinationFailure,), StoreUnavailable, "failed to answer on one of its nodes; see that node's log"),
    ((NoHostAvailable, ConnectionException, OSError), StoreUnavailable, "didn't answer"),
)


def translation(error: BaseException, shown: str) -> MainspringError:
    """The error of ours that stands for this one; *shown* names the store without its password."""
    refusals = getattr(error, "errors", None)
    if isinstance(error, NoHostAvailable) and isinstance(refusals, dict):
        refused = [inner for inner in refusals.values() if isinstance(inner, AuthenticationFailed)]
        error = refused[0] if refused else error
    if isinstance(error, InvalidRequest) and _DISK_IS_FULL in str(error):
        return StoreFull(f"{shown} has no space left; nothing was stored. Free some: no restart is needed ({error})")
    for theirs, ours, advice in _TRANSLATIONS:
        if isinstance(error, theirs):
            return ours(f"{shown} {advice} ({_detail(error)})")
    return StoreUnavailable(f"{shown}: {type(error).__name__}: {error}")


def _detail(error: BaseException) -> str:
    """The same words for the same troubles: the driver tells of its hosts in whichever order it tried them."""
    refusals = getattr(error, "errors", None)
    if isinstance(error, NoHostAvailable) and isinstance(refusals, dict) and refusals:
        return "; ".join(sorted(f"{host}: {refusal}" for host, refusal in refusals.items()))
    return str(error) or type(error).__name__


def verdict_on_decision(error: BaseException, shown: str) -> MainspringError:
    """The same for a conditional batch: whatever may have reached a node is unknown, never failed."""
    ours = translation(error, shown)
    return ours if isinstance(error, _NEVER_SENT) else UnknownOutcome(str(ours))
