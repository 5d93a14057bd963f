from pathlib import Path

import pytest

from tests.cli.commands import Command

WORD = "hunter2"


def test_every_setting_is_shown_with_where_it_came_from(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("WORKER_MAX_ATTEMPTS=7\nMAINSPRING_DATA=elsewhere\n")
    monkeypatch.setenv("PORT", "9000")
    rows = {row["variable"]: row for row in command("config", "show", "--drain-seconds", "5", "--json").lines()}
    for variable, value, origin in (
        ("MAINSPRING_DRAIN_SECONDS", "5", "--drain-seconds"),
        ("MAINSPRING_PORT", "9000", "PORT"),
        ("MAINSPRING_MAX_ATTEMPTS", "7", "WORKER_MAX_ATTEMPTS in .env"),
        ("MAINSPRING_DATA", "elsewhere", "MAINSPRING_DATA in .env"),
        ("MAINSPRING_HOST", "127.0.0.1", "default"),
    ):
        assert (rows[variable]["value"], rows[variable]["origin"]) == (value, origin)
    assert rows["MAINSPRING_PORT"]["flag"] == "--port"


def test_people_get_a_line_for_each(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "9000")
    lines = command("config", "show").out.splitlines()
    assert len(lines) == len(command("config", "show", "--json").lines())
    assert [line.split() for line in lines if "PORT" in line] == [["MAINSPRING_PORT", "9000", "PORT"]]


def test_no_secret_is_shown(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAINSPRING_WEBHOOK_SECRET", WORD)
    monkeypatch.setenv("MAINSPRING_API_KEYS", f"ann:{WORD * 3}")
    monkeypatch.setenv("DATABASE_URL", f"postgresql://me:{WORD}@db/x")
    for flags in ((), ("--json",)):
        said = command("config", "show", *flags).out
        assert WORD not in said
        assert "postgresql://me:***@db/x" in said


@pytest.mark.parametrize(
    "arguments",
    [("serve",), ("api",), ("scheduler",), ("worker",), ("migrate",), ("seed",), ("doctor",), ("config", "show")],
    ids=" ".join,
)
def test_what_reads_the_settings_refuses_a_name_that_is_none(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MAINSPRING_DRAIN_SECOND", "5")
    (tmp_path / ".env").write_text("MAINSPRING_SUBMISSIONS=kafka://broker:9092\n")
    assert command(*arguments, code=2).err == (
        "mainspring: MAINSPRING_DRAIN_SECOND isn't a setting; did you mean MAINSPRING_DRAIN_SECONDS?; "
        "MAINSPRING_SUBMISSIONS in .env isn't served by this version; remove it\n"
    )
    assert not (tmp_path / "data").exists()


def test_a_client_does_not_care_for_the_settings_of_servers(
    on_store: Command, on_server: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_DRAIN_SECOND", "5")
    on_store("job", "list")
    on_server("worker", "list")


def test_the_doctor_names_what_is_described_and_not_served(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BROKERS", "broker:9092")
    found = {line["check"]: line for line in command("doctor", "--port", "0", "--json").lines()}
    assert found["settings"]["level"] == "warn"
    assert "KAFKA_BROKERS" in found["settings"]["detail"]
