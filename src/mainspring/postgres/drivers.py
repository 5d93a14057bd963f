"""One statement on anybody's connection: what each driver calls its parameters, and whether its answer is awaited."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from mainspring.errors import ConfigurationError

T = TypeVar("T")
Rows = Sequence[Sequence[Any]]
Marker = Callable[[int], str]
"""How the nth parameter is written in a statement."""


def ask(connection: Any, statement: Callable[[Marker], str], values: Sequence[Any], read: Callable[[Rows], T]) -> Any:
    """Run a statement in whatever transaction *connection* is in, and read its rows; awaitable if the driver is."""
    driver = _driver(connection)
    if driver == "asyncpg":
        return _awaited(connection.fetch(statement(lambda number: f"${number}"), *values), read)
    if driver == "psycopg":
        cursor = connection.execute(statement(lambda _: "%s"), values)
        return _fetched(cursor, read) if inspect.isawaitable(cursor) else read(cursor.fetchall())
    if driver == "sqlalchemy":
        from sqlalchemy import text  # noqa: PLC0415 - theirs, if they use it

        named = {f"value{number}": value for number, value in enumerate(values, 1)}
        result = connection.execute(text(statement(lambda number: f":value{number}")), named)
        return _awaited(result, lambda found: read(found.all())) if inspect.isawaitable(result) else read(result.all())
    raise ConfigurationError(
        f"{type(connection).__module__}.{type(connection).__name__} isn't a connection that is known here: "
        "give one of asyncpg, psycopg 3 or SQLAlchemy"
    )


def _driver(connection: Any) -> str | None:
    packages = [base.__module__.partition(".")[0] for base in type(connection).__mro__]
    return next((package for package in packages if package in ("asyncpg", "psycopg", "sqlalchemy")), None)


async def _awaited(answer: Awaitable[Any], read: Callable[[Any], T]) -> T:
    return read(await answer)


async def _fetched(cursor: Awaitable[Any], read: Callable[[Rows], T]) -> T:
    return read(await (await cursor).fetchall())
