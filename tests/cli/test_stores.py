"""Which commands create a store where there is none."""

import secrets
from pathlib import Path

import pytest

from tests.cassandra import in_keyspace
from tests.cli.commands import Command

NOBODY = "00000000-0000-0000-0000-000000000007"
READING = [
    ("job", "list"),
    ("job", "show", NOBODY),
    ("job", "pause", NOBODY),
    ("run", "list"),
    ("dead", "list"),
    ("dead", "requeue", "--all"),
    ("lock", "list"),
    ("lock", "acquire", "nightly"),
    ("worker", "list"),
    ("key", "list"),
    ("key", "revoke", NOBODY),
    ("audit", "verify"),
]


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_a_command_that_needs_what_is_there_creates_no_store(
    command: Command, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    said = command(*arguments, "--data", "typo", code=2)
    assert said.err == (
        "mainspring: there is no store at sqlite:///typo/mainspring.db: check --store and --data; "
        "'mainspring migrate' makes one\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [("job", "add", "test.echo"), ("seed",), ("migrate",), ("key", "create")])
def test_a_command_that_begins_something_creates_one(
    command: Command, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    command(*arguments, "--data", "fresh")
    assert (tmp_path / "fresh" / "mainspring.db").exists()
    command("job", "list", "--data", "fresh")


def test_an_import_creates_one_unless_it_only_checks(command: Command, tmp_path: Path) -> None:
    (tmp_path / "jobs.jsonl").write_text('{"handler": "test.echo"}\n')
    assert "there is no store" in command("import", "jobs.jsonl", "--check", "--data", "fresh", code=2).err
    assert not (tmp_path / "fresh").exists()
    assert "a new one was made" in command("import", "jobs.jsonl", "--data", "fresh").err


def test_an_empty_schema_of_postgresql_stays_empty(command: Command, postgres_url: str) -> None:
    separator = "&" if "?" in postgres_url else "?"
    store = f"{postgres_url}{separator}schema=typo_{secrets.token_hex(4)}"
    assert "there is no store at postgresql://" in command("job", "list", "--store", store, code=2).err
    found = {line["check"]: line for line in command("doctor", "--port", "0", "--store", store, "--json").lines()}
    assert found["store"]["level"] == "warn"
    assert "there is no store" in command("job", "list", "--store", store, code=2).err, "the doctor made one"
    command("migrate", "--store", store)
    command("job", "list", "--store", store)


def test_a_keyspace_of_cassandra_is_not_made_by_reading(command: Command, cassandra_cluster_url: str) -> None:
    store = in_keyspace(cassandra_cluster_url, f"test_{secrets.token_hex(8)}")
    for _ in range(2):
        assert "there is no store at cassandra://" in command("job", "list", "--store", store, code=2).err
