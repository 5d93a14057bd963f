import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import aiohttp
import apsw
import pytest
from typer.testing import CliRunner, Result

from mainspring.api.keys import digest_of, is_ours
from mainspring.cli.exits import Exit
from mainspring.cli.main import app
from mainspring.errors import Invalid, NotFound
from tests.scenarios.serve.processes import PATIENCE, embedded, mainspring

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what needs a key
Command = Callable[..., Result]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    environment = {"MAINSPRING_DATA": str(tmp_path / "data"), "COLUMNS": "200"}

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments), env=environment)

    return run


def created(command: Command, *arguments: str) -> dict[str, str]:
    made = command("key", "create", "--json", *arguments)
    assert made.exit_code == 0, made.output
    answer: dict[str, str] = json.loads(made.stdout)
    return answer


def test_a_key_is_shown_once_and_only_its_digest_is_kept(command: Command, tmp_path: Path) -> None:
    made = command("key", "create", "--owner", "ann", "--name", "ci", "--scope", "read", "--expires", "90d")
    key = made.stdout.strip()
    assert is_ours(key)
    assert "isn't shown again" in made.stderr
    listed = command("key", "list").stdout
    assert "ann" in listed
    assert "good until" in listed
    assert key not in listed
    assert key.encode() not in b"".join(file.read_bytes() for file in (tmp_path / "data").glob("mainspring.db*"))
    (shown,) = json.loads(command("key", "list", "--json").stdout)
    assert (shown["owner"], shown["name"], shown["scope"], shown["revoked_at"]) == ("ann", "ci", "read", None)
    assert "digest" not in shown
    assert digest_of(key).hex() not in listed


def test_a_revoked_key_is_listed_as_such(command: Command) -> None:
    made = created(command, "--owner", "ann")
    for _ in range(2):
        assert "is revoked" in command("key", "revoke", made["id"]).stdout
    assert "revoked" in command("key", "list", "--owner", "ann").stdout
    assert "there is no key yet" in command("key", "list", "--owner", "bob").stdout


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("revoke", "nonsense"), Invalid, "isn't the id of a key"),
        (("revoke", "00000000-0000-7000-8000-000000000000"), NotFound, "there is no key"),
        (("create", "--expires", "soon"), Invalid, "like 12h, 90d or 52w"),
        (("create", "--expires", "0d"), Invalid, "like 12h, 90d or 52w"),
        (("create", "--owner", ""), Invalid, "--owner must have"),
    ],
)
def test_mistakes_are_explained(
    command: Command, arguments: tuple[str, ...], error: type[Exception], message: str
) -> None:
    created(command)
    result = command("key", *arguments)
    assert isinstance(result.exception, error)
    assert message in str(result.exception)


def test_the_audit_names_keys_that_were_made_and_notices_what_was_changed(command: Command, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        created(command, "--name", name)
    verified = command("audit", "verify")
    assert (verified.exit_code, "holds over 3 entries" in verified.stdout) == (0, True)
    connection = apsw.Connection(str(tmp_path / "data" / "mainspring.db"))
    connection.execute("UPDATE audit SET actor = 'somebody else' WHERE number = 2")
    connection.close()
    verified = command("audit", "verify")
    assert (verified.exit_code, "entry 2 doesn't fit" in verified.stderr) == (Exit.FAILED, True)


async def test_an_address_that_others_can_reach_is_served_once_a_key_exists(command: Command, tmp_path: Path) -> None:
    async with mainspring(embedded(tmp_path), "api", "--host", EVERYWHERE, "--port", "0") as refused:
        assert await refused.ended() == 2
    key = (await asyncio.to_thread(created, command))["key"]
    async with mainspring(embedded(tmp_path), "api", "--host", EVERYWHERE, "--port", "0") as running:
        url = (await running.url()).replace(EVERYWHERE, "127.0.0.1")
        async with aiohttp.ClientSession(url) as client:
            async with client.get("/api/v1/jobs") as response:
                assert response.status == 401
            headers = {"Authorization": f"Bearer {key}", "Host": "jobs.example.org"}
            async with client.post("/api/v1/jobs", json={"handler": "test.echo"}, headers=headers) as response:
                assert response.status == 201, await response.text()


async def test_an_open_stream_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with mainspring(embedded(tmp_path), "api", "--port", "0") as running, aiohttp.ClientSession() as client:
        async with client.get(f"{await running.url()}/api/v1/events") as response:
            assert response.status == 200
            await response.content.readline()
            running.terminate()
            async with asyncio.timeout(PATIENCE):
                assert b"event:" not in await response.read()
        assert await running.ended() == 0
