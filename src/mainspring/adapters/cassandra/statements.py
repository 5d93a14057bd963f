"""The CQL of the five verbs: pure text, made from what a table is. Values are always bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from mainspring.adapters.cassandra.rows import Key, Span, Value
from mainspring.adapters.cassandra.table import Table


@dataclass(frozen=True, slots=True)
class Restriction:
    """What a WHERE says about clustering columns, with the values to bind."""

    text: str
    values: tuple[Value, ...]


@cache
def select(keyspace: str, table: Table, restriction: str, *, backwards: bool = False, limited: bool = False) -> str:
    """Rows of one partition."""
    columns = ", ".join((*table.partition, *table.clustering, *table.columns))
    order = f" ORDER BY {', '.join(f'{name} DESC' for name in table.clustering)}" if backwards else ""
    place = f"{keyspace}.{table.name}"
    return f"SELECT {columns} FROM {place} WHERE {_within(table, restriction)}{order}{' LIMIT ?' * limited}"  # noqa: S608 - names from `tables`, here and below


@cache
def insert(
    keyspace: str, table: Table, columns: tuple[str, ...], *, stamped: bool = False, absent: bool = False
) -> str:
    """A row with these columns, keys among them: at a given timestamp, or if there is none yet."""
    values = ", ".join("?" * len(columns))
    return (
        f"INSERT INTO {keyspace}.{table.name} ({', '.join(columns)}) VALUES ({values})"  # noqa: S608
        f"{' IF NOT EXISTS' * absent}{' USING TIMESTAMP ?' * stamped}"
    )


@cache
def update(keyspace: str, table: Table, columns: tuple[str, ...], compared: tuple[str, ...]) -> str:
    """These columns of a row, if those that are compared have the given values."""
    settings = ", ".join(f"{name} = ?" for name in columns)
    row = _equalities((*table.partition, *table.clustering))
    condition = f" IF {_equalities(compared)}" if compared else ""
    return f"UPDATE {keyspace}.{table.name} SET {settings} WHERE {row}{condition}"  # noqa: S608


@cache
def delete(keyspace: str, table: Table, restriction: str, *, stamped: bool = False) -> str:
    """Everything of one partition that the restriction leaves."""
    place = f"{keyspace}.{table.name}"
    return f"DELETE FROM {place}{' USING TIMESTAMP ?' * stamped} WHERE {_within(table, restriction)}"  # noqa: S608


def restricted(table: Table, span: Span) -> Restriction:
    """The columns that both bounds agree on are compared one by one, the rest as a tuple where it must be.

    Of tuples in a DELETE not every server makes as much as it should, and hardly any delete needs one.
    """
    lower, upper = _lower(span), _upper(span)
    shared = _shared(lower, upper)
    names = tuple(table.clustering)
    parts = [f"{name} = ?" for name in names[: len(shared)]]
    values = list(shared)
    rests = [(operator, () if bound is None else bound[len(shared) :]) for operator, bound in (lower, upper)]
    as_tuples = any(len(rest) > 1 for _, rest in rests)
    for operator, rest in rests:
        if rest:
            parts.append(_comparison(names[len(shared) :][: len(rest)], operator, as_tuple=as_tuples))
            values.extend(rest)
    return Restriction(" AND ".join(parts), tuple(values))


def among(table: Table, keys: Sequence[Key]) -> tuple[str, tuple[object, ...]]:
    """These rows by their clustering keys."""
    names = tuple(table.clustering)
    if len(keys) == 1:
        return _equalities(names), keys[0]
    if len(names) == 1:
        return f"{names[0]} IN ?", ([key[0] for key in keys],)
    return f"({', '.join(names)}) IN ?", (list(keys),)


Bound = tuple[str, Key | None]


def _lower(span: Span) -> Bound:
    return (">", span.after) if span.after is not None else (">=", span.first)


def _upper(span: Span) -> Bound:
    return ("<", span.before) if span.before is not None else ("<=", span.last)


def _shared(lower: Bound, upper: Bound) -> Key:
    """The leading part that two including bounds have in common; of an excluding one, its end stays a comparison."""
    if lower[1] is None or upper[1] is None:
        return ()
    most = min(len(lower[1]) - (lower[0] == ">"), len(upper[1]) - (upper[0] == "<"))
    count = 0
    while count < most and lower[1][count] == upper[1][count]:
        count += 1
    return lower[1][:count]


def _comparison(names: Sequence[str], operator: str, *, as_tuple: bool) -> str:
    if not as_tuple:
        return f"{names[0]} {operator} ?"
    return f"({', '.join(names)}) {operator} ({', '.join('?' * len(names))})"


def _within(table: Table, restriction: str) -> str:
    partition = _equalities(tuple(table.partition))
    return f"{partition} AND {restriction}" if restriction else partition


def _equalities(names: Sequence[str]) -> str:
    return " AND ".join(f"{name} = ?" for name in names)
