"""Bringing a file up to date: the same tables by every way, and a newer one used only where it allows that."""

from pathlib import Path

import apsw
import pytest

from mainspring.adapters.sqlite import migrate as migrating
from mainspring.adapters.sqlite.migrate import migrate, migrations
from mainspring.errors import SchemaTooNew

Steps = list[tuple[int, str]]


def migrated(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        return migrate(connection, str(path))
    finally:
        connection.close()


def columns(path: Path) -> list[tuple[object, ...]]:
    """All that the tables consist of, and the indexes as they were written."""
    connection = apsw.Connection(str(path))
    tables = (
        "SELECT m.name, c.* FROM sqlite_schema m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' ORDER BY 1, 2"
    )
    indexes = "SELECT name, sql FROM sqlite_schema WHERE type <> 'table' ORDER BY name"
    try:
        return [*connection.execute(tables), *connection.execute(indexes)]
    finally:
        connection.close()


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_schema_that_grew_step_by_step_is_the_same_as_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, grown, steps = tmp_path / "fresh.db", tmp_path / "grown.db", migrations()
    assert migrated(fresh) == len(steps)
    for count in range(1, len(steps) + 1):
        monkeypatch.setattr(migrating, "migrations", lambda until=count: steps[:until])
        assert migrated(grown) == count
    assert columns(grown) == columns(fresh)


@pytest.mark.parametrize(("tolerated", "opens"), [(0, True), (1, False)])
def test_a_newer_schema_is_used_if_it_tolerates_programs_like_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tolerated: int, opens: bool
) -> None:
    """A later release brings two steps, and says of the second which programs it tolerates."""
    path, known = tmp_path / "store.db", len(migrations())
    steps = [
        *migrations(),
        (known + 1, f"-- Programs of schema {known} work on this.\nCREATE TABLE tint (id INTEGER) STRICT;"),
        (known + 2, f"-- Programs of schema {known + tolerated} work on this.\nCREATE TABLE hue (id INTEGER) STRICT;"),
    ]
    with monkeypatch.context() as later:
        later.setattr(migrating, "migrations", lambda: steps)
        assert migrated(path) == known + 2
    before = columns(path)
    if opens:
        assert migrated(path) == known + 2
    else:
        with pytest.raises(SchemaTooNew, match=f"has schema {known + 2}, but this Mainspring knows {known}"):
            migrated(path)
    assert columns(path) == before
