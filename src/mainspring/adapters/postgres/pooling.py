"""Finds out whether a pooler lends one server session to many clients, as PgBouncer does in transaction mode.

Nobody can listen there: the session that listens belongs to somebody else a moment later. Nothing fails, signals are
just never heard, so it has to be looked for.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TypeAlias

import asyncpg

from mainspring.adapters.postgres.address import Address
from mainspring.adapters.postgres.failures import translated
from mainspring.errors import ConfigurationError

ECHO_AT_MOST = timedelta(seconds=5)
CONNECT_SECONDS = 10.0

Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


async def check_sessions(address: Address, *, echo_at_most: timedelta = ECHO_AT_MOST) -> None:
    """Raise ConfigurationError unless every connection has a server session of its own and hears what is notified."""
    with translated(address.shown):
        async with AsyncExitStack() as closing:
            ours = await closing.enter_async_context(_connected(address))
            other = await closing.enter_async_context(_connected(address))
            if not await _keep_apart(ours, other):
                raise _pooled(address, "it lends one server session to several clients")
            if not await _hears(ours, other, echo_at_most):
                raise _pooled(address, f"a notification didn't come back within {echo_at_most.total_seconds():g} s")


async def _keep_apart(ours: Session, other: Session) -> bool:
    """Whether two connections stay on two sessions, also while one of them is in the midst of a transaction."""
    secret = secrets.token_hex(8)
    async with ours.transaction():
        await ours.execute(f"SET mainspring.probe = '{secret}'")
        session = await ours.fetchval("SELECT pg_backend_pid()")
    async with other.transaction():
        if await other.fetchval("SELECT pg_backend_pid()") == session:
            return False
        async with ours.transaction():
            kept = await ours.fetchrow("SELECT pg_backend_pid(), current_setting('mainspring.probe', true)")
    return kept is not None and tuple(kept) == (session, secret)


async def _hears(ours: Session, other: Session, at_most: timedelta) -> bool:
    channel = f"mainspring_probe_{secrets.token_hex(8)}"
    heard = asyncio.Event()
    await ours.add_listener(channel, lambda *_: heard.set())
    async with other.transaction():
        await other.execute(f"NOTIFY {channel}")
    try:
        async with asyncio.timeout(at_most.total_seconds()):
            await heard.wait()
    except TimeoutError:
        return False
    return True


@asynccontextmanager
async def _connected(address: Address) -> AsyncIterator[Session]:
    # A pooler may refuse settings and mix up prepared statements: it is asked for neither, to get to the point.
    connection = await asyncpg.connect(
        address.url, timeout=CONNECT_SECONDS, command_timeout=CONNECT_SECONDS, statement_cache_size=0
    )
    try:
        yield connection
    finally:
        connection.terminate()


def _pooled(address: Address, symptom: str) -> ConfigurationError:
    return ConfigurationError(
        f"{address.shown} is behind a pooler that doesn't keep sessions ({symptom}): "
        "connect to PostgreSQL directly, or set the pooler to session mode"
    )
