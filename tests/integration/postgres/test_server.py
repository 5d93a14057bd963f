import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from servers.folder import ServerFolder
from servers.keeper import USERS
from servers.postgres import PostgresServer
from servers.postgres_programs import ANOTHER_VERSION
from servers.process import ServerFailed

ROOT = Path(__file__).parents[3]
OWNER = """
from pathlib import Path
import sys
from servers.postgres import PostgresServer
from servers.shared import shared

with shared(Path(sys.argv[1]), PostgresServer) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def user_of_a_shared_server(note: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-c", OWNER, str(note)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def wait_until_abandoned(folder: Path) -> None:
    """Return when the keeper has deleted the folder: it does so last of all. The test's time limit bounds the wait."""
    while folder.exists():
        time.sleep(0.01)


def is_answered(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def test_what_was_committed_survives_a_kill(postgres_server: PostgresServer) -> None:
    with psycopg.connect(postgres_server.url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    postgres_server.kill()
    assert not is_answered(postgres_server.url())
    postgres_server.start()
    with psycopg.connect(postgres_server.url()) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_a_restart_keeps_address_and_data(postgres_server: PostgresServer) -> None:
    before = postgres_server.url()
    postgres_server.restart()
    assert postgres_server.url() == before
    assert is_answered(before)


def test_starting_or_stopping_twice_changes_nothing(postgres_server: PostgresServer) -> None:
    with psycopg.connect(postgres_server.url()) as connection:
        postgres_server.start()
        assert connection.execute("SELECT 1").fetchone() == (1,)
    postgres_server.stop()
    postgres_server.stop()
    assert not is_answered(postgres_server.url())


def test_commits_are_durable(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        settings = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
    assert settings == [("on",), ("on",)]


def test_a_database_is_empty_and_its_own(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")
        assert tables.fetchone() == (0,)


@pytest.mark.usefixtures("postgres_wheel")
def test_a_server_that_cannot_start_says_why() -> None:
    server = PostgresServer({"shared_buffers": "nonsense"})
    with pytest.raises(ServerFailed, match='invalid value for parameter "shared_buffers"'), server:
        pytest.fail("it can't have started")
    assert not server.folder.path.exists()


@pytest.mark.usefixtures("postgres_wheel")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down to another account")
def test_programs_that_the_other_account_cannot_reach_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ANOTHER_VERSION, raising=False)
    monkeypatch.setattr("servers.postgres_programs.is_open_to_all", lambda _: False)
    with PostgresServer() as server:
        assert is_answered(server.url())


@pytest.mark.usefixtures("postgres_wheel")
def test_a_server_ends_with_its_killed_owner(tmp_path: Path) -> None:
    note = tmp_path / "postgres.json"
    with user_of_a_shared_server(note) as (owner, url):
        assert is_answered(url)
        folder = _folder(note)
        owner.send_signal(signal.SIGKILL)
        wait_until_abandoned(folder)
    assert not is_answered(url)


@pytest.mark.usefixtures("postgres_wheel")
def test_a_shared_server_ends_with_the_last_of_its_users(tmp_path: Path) -> None:
    note = tmp_path / "postgres.json"
    with user_of_a_shared_server(note) as (_, url):
        with user_of_a_shared_server(note) as (_, found):
            assert found == url
        assert is_answered(url)
    with user_of_a_shared_server(note) as (_, url_of_the_next):
        assert is_answered(url_of_the_next)
    wait_until_abandoned(_folder(note))
    assert not is_answered(url_of_the_next)


def test_nobody_joins_a_server_that_is_about_to_end(tmp_path: Path) -> None:
    (tmp_path / USERS).touch()
    keeper = os.open(tmp_path / USERS, os.O_RDWR)
    fcntl.flock(keeper, fcntl.LOCK_EX)
    folder = ServerFolder(tmp_path)
    assert not folder.hold()
    os.close(keeper)
    assert folder.hold()
    folder.release()


def _folder(note: Path) -> Path:
    return Path(json.loads(note.read_text())["folder"])
