"""Which of our errors stands for one of the driver's or the server's."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from mainspring.errors import (
    ConfigurationError,
    MainspringError,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

REPEATABLE = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
"""The transaction was rolled back for certain, and may well succeed if it is repeated."""

_EVERYBODY = (
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.InvalidTransactionStateError,
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedColumnError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.LockNotAvailableError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    *REPEATABLE,
)
"""What has befallen the connection, the server or the schema: another item would have fared no better."""

THEIRS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""All that the driver may raise."""

_Table = tuple[tuple[tuple[type[BaseException], ...], type[MainspringError], str], ...]

_TRANSLATIONS: _Table = (
    ((asyncpg.DiskFullError,), StoreFull, "has no space left; nothing was stored. Free some: no restart is needed"),
    (
        (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError),
        ConfigurationError,
        "refuses the connection: check user, password and database in the URL",
    ),
    (
        (asyncpg.exceptions.ClientConfigurationError,),
        ConfigurationError,
        "can't be asked for like this: check the URL and what stands behind its question mark",
    ),
    (
        (asyncpg.InsufficientPrivilegeError,),
        StoreReadOnly,
        "doesn't allow it: the user of the URL must own the schema, or be given its tables",
    ),
    (
        (asyncpg.ReadOnlySQLTransactionError,),
        StoreUnavailable,
        "is read only just now, as a standby is: name the primary, or add target_session_attrs=read-write to the URL",
    ),
    (
        (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError),
        StoreCorrupt,
        "lacks parts of the schema: run `mainspring migrate`, or choose another schema",
    ),
    ((asyncpg.QueryCanceledError,), StoreUnavailable, "took too long to answer"),
    (REPEATABLE, StoreUnavailable, "let others go first too many times"),
    (
        (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError),
        StoreUnavailable,
        "didn't answer",
    ),
    ((asyncpg.PostgresError,), StoreUnavailable, "can't do it just now"),
)


@contextmanager
def translated(shown: str) -> Iterator[None]:
    """Let no driver error pass: each becomes one of ours; *shown* names the store without its password."""
    try:
        yield
    except THEIRS as error:
        raise translation(error, shown) from error


def translation(error: BaseException, shown: str) -> MainspringError:
    """The error of ours that stands for this one."""
    for theirs, ours, advice in _TRANSLATIONS:
        if isinstance(error, theirs):
            detail = str(error) or type(error).__name__
            return ours(f"{shown} {advice} ({detail})")
    return StoreUnavailable(f"{shown}: {type(error).__name__}: {error}")


def concerns_everybody(error: MainspringError) -> bool:
    """Whether this translated error has nothing to do with what was to be stored."""
    return error.__cause__ is None or isinstance(error.__cause__, _EVERYBODY)
