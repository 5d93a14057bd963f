"""Every way to fail: its exit code, and one sentence."""

import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from mainspring.cli.exits import MEANINGS, Exit, explained
from mainspring.client import errors as client
from mainspring.client.errors import Problem
from mainspring.errors import MainspringError, StoreFull, StoreUnavailable
from tests.cli.commands import Command, serving

NOBODY = str(UUID(int=7))
KEY = "a-key-that-is-long-enough"


def sentence(said: str) -> str:
    [line] = said.splitlines()
    assert line.startswith("mainspring: ")
    return line


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("job", "show", NOBODY), 3, f"there is no job {NOBODY}"),
        (("run", "show", NOBODY), 3, f"there is no execution {NOBODY}"),
        (("dead", "discard", NOBODY), 3, NOBODY),
        (("lock", "show", "nobodys"), 3, "nobodys"),
        (("job", "add", "no.such.handler"), 2, "no worker has ever registered the handler 'no.such.handler'"),
        (("job", "add", "test.echo", "--schedule", "61 * * * *"), 2, "schedule: minute 61 is out of range"),
        (("job", "add", "test.echo", "--overlap", "sometimes"), 2, "overlap: "),
        (("job", "add", "test.echo", "--timeout", "soon"), 2, "--timeout: 'soon' isn't a duration"),
        (("job", "add", "test.echo", "--timeout", "0s"), 2, "--timeout must be longer than nothing"),
        (("job", "add", "test.echo", "--timeout", "1.0005s"), 2, "--timeout must be a whole number of milliseconds"),
        (("job", "add", "test.echo", "--payload", "hello"), 2, "--payload isn't JSON"),
        (("job", "add", "test.echo", "--payload", "[" * 100_000), 2, "nested too deeply"),
        (("job", "add", "test.echo", "--payload", "Infinity"), 2, "Infinity isn't a JSON number"),
        (("job", "add", "test.echo", "--payload", '{"a": 1, "a": 2}'), 2, "'a' stands in it twice"),
        (("job", "add", "test.echo", "--payload", "@nowhere"), 2, "nowhere can't be read"),
        (("job", "list", "--status", "BORED"), 2, "status: "),
        (("job", "list", "--url", "http://127.0.0.1:1"), 2, "give one of them"),
    ],
)
def test_an_error_is_one_sentence_and_a_code(
    on_store: Command, arguments: tuple[str, ...], code: int, message: str
) -> None:
    said = on_store(*arguments, code=code)
    assert message in sentence(said.err)
    assert not said.out


def test_another_body_under_the_same_key_is_refused(on_store: Command) -> None:
    on_store("job", "add", "test.echo", "--key", "once")
    said = on_store("job", "add", "test.echo", "--key", "once", "--payload", "1", code=4)
    assert "'once'" in sentence(said.err)


@pytest.fixture
def closed_port() -> Iterator[str]:
    """A port that is ours, and where nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield str(bound.getsockname()[1])


def test_without_a_server_the_next_step_is_told(
    command: Command, closed_port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORT", closed_port)
    said = sentence(command("job", "list", code=6).err)
    assert f"http://127.0.0.1:{closed_port}" in said
    assert "'mainspring serve'" in said
    assert "--data" in said


@pytest.mark.parametrize("way", ["flag", "environment", "dotenv"])
def test_a_server_is_named_in_three_ways(
    command: Command, closed_port: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    url = f"http://127.0.0.1:{closed_port}"
    match way:
        case "flag":
            command = command.on("--url", url)
        case "environment":
            monkeypatch.setenv("MAINSPRING_URL", url)
        case _:
            (tmp_path / ".env").write_text(f"MAINSPRING_URL={url}\n")
    assert f"no answer from {url}" in sentence(command("job", "list", code=6).err)


def test_what_is_no_url_is_refused(command: Command) -> None:
    assert "isn't the URL of a server" in sentence(command("job", "list", "--url", "localhost:8080", code=2).err)


def test_without_the_key_nothing_is_shown(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path, MAINSPRING_API_KEYS=f"me:{KEY}") as url:
        on_server = command.on("--url", url)
        assert "--api-key or MAINSPRING_KEY" in sentence(on_server("job", "list", code=5).err)
        on_server("job", "list", "--api-key", "not-the-right-key", code=5)
        on_server("job", "list", "--api-key", KEY)
        monkeypatch.setenv("MAINSPRING_KEY", KEY)
        assert on_server("job", "add", "test.echo", "--json").json()["owner"] == "me"


def api_error(kind: type[client.ApiError], status: int) -> client.ApiError:
    return kind(Problem(status=status, detail="what it said", field="priority"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (api_error(client.Invalid, 422), Exit.USAGE),
        (api_error(client.NotFound, 404), Exit.MISSING),
        (api_error(client.Conflict, 409), Exit.REFUSED),
        (api_error(client.TooManyRequests, 429), Exit.REFUSED),
        (api_error(client.Unauthorized, 403), Exit.UNAUTHORIZED),
        (api_error(client.Unavailable, 503), Exit.UNREACHABLE),
        (client.Unreachable("http://nowhere", "no route", tries=3), Exit.UNREACHABLE),
        (client.LockBusy("x", "me"), Exit.REFUSED),
        (client.UnexpectedAnswer("this is a shop"), Exit.FAILED),
        (StoreUnavailable("busy"), Exit.UNREACHABLE),
        (StoreFull("full"), Exit.FAILED),
    ],
)
def test_each_error_has_its_code(error: MainspringError, code: Exit) -> None:
    assert explained(error)[0] is code


def test_all_fields_that_are_wrong_are_named() -> None:
    errors = [{"field": "a", "detail": "too long"}, {"field": "b", "detail": "too short"}]
    problem = Problem(status=422, detail="a: too long (and 1 more)", errors=errors)
    assert explained(client.Invalid(problem)) == (Exit.USAGE, "a: too long; b: too short")
    assert explained(api_error(client.Invalid, 422))[1] == "priority: what it said"


def test_every_code_is_explained() -> None:
    assert MEANINGS.keys() == set(Exit)
