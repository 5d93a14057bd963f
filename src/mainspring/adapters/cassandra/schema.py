"""The tables as CQL, for `cqlsh` and for `mainspring migrate` alike: `schema.cql` beside this is what comes out."""

from collections.abc import Iterator, Mapping

from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import (
    BLOB_AGE,
    CLAIM_INTENT,
    DUE,
    DUE_SLOT,
    REVISIT,
    SLOT,
    TABLES,
    TIMETABLE,
    TIMETABLE_SLOT,
)

SCHEMA = 2
"""Grows when an older Mainspring couldn't work on the tables any more."""

_QUEUES = (DUE, DUE_SLOT, REVISIT, TIMETABLE, TIMETABLE_SLOT, CLAIM_INTENT, SLOT, BLOB_AGE)
"""Small, and what goes in comes out again: deletions must be cleared away soon, or reads wade through them."""
_QUEUE_GRACE = 3600
"""Seconds that a deletion is remembered there: an entry that comes back does no harm, it is dropped once more."""
_LEVELS = "{'class': 'LeveledCompactionStrategy'}"
"""Not for DUE: a minute of it is never read again once it is cleared, and levels write all that waits several times."""
_WINDOWS = "{'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS', 'compaction_window_size': '6'}"
"""For rows that vanish by themselves: whole files at once."""


def script(keyspace: str, replication: Mapping[str, int]) -> str:
    """Everything, for `cqlsh --file`; running it twice changes nothing."""
    return "\n".join(f"{statement};\n" for statement in statements(keyspace, replication))


def statements(keyspace: str, replication: Mapping[str, int]) -> Iterator[str]:
    """One after the other; each changes nothing where it was run before."""
    yield create_keyspace(keyspace, replication)
    for table in TABLES:
        yield create_table(keyspace, table)


def create_keyspace(keyspace: str, replication: Mapping[str, int]) -> str:
    """Makes the keyspace with so many copies in each data centre, or in all under an empty name."""
    copies = ", ".join(f"'{name or 'replication_factor'}': {count}" for name, count in replication.items())
    return (
        f"CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {{'class': 'NetworkTopologyStrategy', {copies}}}"
    )


def create_table(keyspace: str, table: Table) -> str:
    """Makes one table."""
    columns = {**table.partition, **table.clustering, **table.columns}
    key = ", ".join([f"({', '.join(table.partition)})", *table.clustering])
    lines = [f"    {name} {kind.value}," for name, kind in columns.items()]
    options = " AND ".join(f"{name} = {value}" for name, value in _options(table).items())
    return "\n".join(
        [
            f"CREATE TABLE IF NOT EXISTS {keyspace}.{table.name} (",
            *lines,
            f"    PRIMARY KEY ({key})",
            f") WITH {options}",
        ]
    )


def add_column(keyspace: str, table: Table, column: str) -> str:
    """Adds a column that an older Mainspring didn't have."""
    return f"ALTER TABLE {keyspace}.{table.name} ADD {column} {table.columns[column].value}"


def _options(table: Table) -> Mapping[str, str]:
    options = {"comment": "'" + table.comment.replace("'", "''") + "'"}
    if table in _QUEUES:
        if table is not DUE:
            options["compaction"] = _LEVELS
        options["gc_grace_seconds"] = str(_QUEUE_GRACE)
    if table.lifetime is not None:
        options["compaction"] = _WINDOWS
        options["default_time_to_live"] = str(int(table.lifetime.total_seconds()))
    return options
