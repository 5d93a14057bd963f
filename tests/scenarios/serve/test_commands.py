import socket
import sys
from pathlib import Path

import pytest

from mainspring import __version__
from mainspring.cli.main import run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("PORT", "MAINSPRING_DATA", "MAINSPRING_STORE", "MAINSPRING_TRUST_NETWORK"):
        monkeypatch.delenv(variable, raising=False)


class Command:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What the command says, on the output that its exit code calls for."""
        self._monkeypatch.setattr(sys, "argv", ["mainspring", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        said = self._capsys.readouterr()
        assert (ended.value.code or 0) == code, said
        return said.err if code else said.out


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


def test_alone_it_says_in_ten_lines_what_to_type_next(command: Command) -> None:
    said = command()
    assert "mainspring serve --samples" in said
    assert len(said.splitlines()) <= 10


def test_the_version_and_the_help_are_there(command: Command) -> None:
    assert command("--version").strip() == __version__
    help_text = command("--help")
    for name in ("serve", "api", "scheduler", "worker", "migrate", "seed", "schedule"):
        assert name in help_text
    assert "MAINSPRING_DRAIN_SECONDS" in command("serve", "--help")


def test_migrate_makes_the_store_and_says_its_schema(command: Command, tmp_path: Path) -> None:
    assert "has schema" in command("migrate", "--data", "somewhere")
    assert (tmp_path / "somewhere" / "mainspring.db").exists()


def test_seeding_twice_adds_nothing_the_second_time(command: Command) -> None:
    first, second = command("seed"), command("seed")
    assert first.count("added") == len(first.splitlines()) > 4
    assert second.count("there already") == len(first.splitlines())
    assert [line.split()[0] for line in first.splitlines()] == [line.split()[0] for line in second.splitlines()]


@pytest.mark.parametrize(
    ("schedule", "moments"),
    [("0 6 * * 1-5", 3), ("@every 1h", 3), ("in 10s", 1), ("2030-01-31T09:00:00Z", 1), ("now", 1)],
)
def test_schedule_next_shows_the_moments(command: Command, schedule: str, moments: int) -> None:
    said = command("schedule", "next", schedule, "--tz", "Europe/Berlin", "--count", "3")
    assert len(said.splitlines()) == moments
    assert said.splitlines()[-1].endswith("Z")


def test_a_job_on_demand_has_no_moments(command: Command) -> None:
    assert "only when triggered" in command("schedule", "next", "on-demand")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("schedule", "next", "0 6 31 2 *"), 2, "never fires"),
        (("serve", "--port", "x"), 2, "--port is 'x', but must be a whole number"),
        (("serve", "--host", "0.0.0.0"), 2, "MAINSPRING_TRUST_NETWORK=1"),  # noqa: S104 - that is the point
        (("serve", "--store", "sqllite:///x.db"), 2, "did you mean sqlite://"),
        (("worker", "--app", "no_such_module"), 2, "there is no module 'no_such_module'"),
        (("worker", "--app", "json:dumps"), 2, "isn't a Registry"),
        (("migrate", "--store", "sqlite:////proc/nowhere/x.db"), 2, "can't be made"),
    ],
)
def test_an_error_is_one_sentence_with_the_next_step(
    command: Command, arguments: tuple[str, ...], code: int, message: str
) -> None:
    said = command(*arguments, code=code)
    lines = [line for line in said.splitlines() if line.startswith("mainspring: ")]
    assert len(lines) == 1
    assert message in lines[0]
    assert "Traceback" not in said


def test_a_port_that_is_taken_is_named(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port} of 127.0.0.1 can't be used" in command("serve", "--port", port, code=2)


def test_dotenv_is_read_from_the_current_folder(command: Command, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MAINSPRING_DATA=from-dotenv\n")
    assert "from-dotenv" in command("migrate")
