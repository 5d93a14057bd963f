from collections.abc import Iterator

import psutil  # type: ignore[import-untyped]  # psutil ships no types
import pytest
import redis

from servers.valkey import ValkeyServer


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


def client(server: ValkeyServer, database: int = 0) -> redis.Redis:
    return redis.Redis.from_url(server.url(database))


def test_what_was_acknowledged_survives_a_kill(valkey: ValkeyServer) -> None:
    with client(valkey) as before:
        before.set("key", "kept")

    valkey.kill()
    valkey.start()

    with client(valkey) as after:
        assert after.get("key") == b"kept"


def test_every_command_is_synchronised_before_its_answer(valkey: ValkeyServer) -> None:
    with client(valkey) as connected:
        assert connected.config_get("appendonly") == {"appendonly": "yes"}
        assert connected.config_get("appendfsync") == {"appendfsync": "always"}


def test_databases_are_apart(valkey: ValkeyServer) -> None:
    with client(valkey, 1) as one, client(valkey, 2) as two:
        one.set("only", "here")

        assert two.get("only") is None


def test_nobody_gets_in_without_the_password(valkey: ValkeyServer) -> None:
    with redis.Redis(port=valkey.port) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()


def test_it_leaves_neither_files_nor_a_process() -> None:
    with ValkeyServer() as server:
        folder, pid = server.folder.path, server.pid

    assert not folder.exists()
    assert not psutil.pid_exists(pid)
