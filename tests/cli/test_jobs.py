import json
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from tests.cli.commands import Command, payloads, typed

ECHO = ("job", "add", "test.echo")


def added(command: Command, *flags: str) -> str:
    return command(*ECHO, *flags, "--quiet").out.strip()


def test_a_job_is_added_listed_and_shown(on_store: Command) -> None:
    said = on_store(*ECHO, "--name", "hello", "--payload", '{"n": 12345678901234567890}')
    identity = said.out.split()[1]
    assert said.out == f"job {identity} added: test.echo, runs now\n"
    [line] = [line for line in on_store("job", "list").out.splitlines() if identity in line]
    assert line.split()[1:5] == ["hello", "test.echo", "SCHEDULED", "now"]
    assert "12345678901234567890" in on_store("job", "show", identity).out


def test_every_flag_becomes_its_field(on_store: Command) -> None:
    flags = {
        "--schedule": "0 6 * * 1-5",
        "--tz": "Europe/Berlin",
        "--name": "nightly",
        "--description": "for the test",
        "--key": "mine",
        "--priority": "80",
        "--retries": "7",
        "--timeout": "1m30s",
        "--lane": "slow",
        "--overlap": "skip",
        "--project": "blue",
    }
    job = on_store(*ECHO, *(part for pair in flags.items() for part in pair), "--json").json()
    expected = {
        "schedule": "0 6 * * 1-5",
        "timezone": "Europe/Berlin",
        "name": "nightly",
        "description": "for the test",
        "key": "mine",
        "priority": 80,
        "max_retries": 7,
        "timeout_ms": 90_000,
        "lane": "slow",
        "overlap": "skip",
        "project_id": "blue",
        "status": "SCHEDULED",
    }
    assert {name: job[name] for name in expected} == expected


def test_a_delay_may_be_shorter_than_a_second(on_store: Command) -> None:
    job = on_store(*ECHO, "--schedule", "in 250ms", "--timeout", "500ms", "--json").json()
    delay = datetime.fromisoformat(job["next_run_time"]) - datetime.fromisoformat(job["created_at"])
    assert (delay, job["timeout_ms"]) == (timedelta(milliseconds=250), 500)


def test_the_same_key_adds_one_job(on_store: Command) -> None:
    first, second = added(on_store, "--key", "once"), added(on_store, "--key", "once")
    assert first == second
    assert len(on_store("job", "list", "--json").lines()) == 1


@pytest.mark.parametrize(("text", "value"), [("@value.json", {"a": [1, None]}), ("null", None), ('"text"', "text")])
def test_a_payload_is_json_or_a_file(on_store: Command, tmp_path: Path, text: str, value: object) -> None:
    (tmp_path / "value.json").write_text('{"a": [1, null]}')
    assert on_store(*ECHO, "--payload", text, "--json").json()["payload"] == value


def test_a_payload_arrives_as_it_was_written(on_store: Command, tmp_path: Path) -> None:
    identity = on_store(*ECHO, "--payload", ' {"b": 1.10,  "a": 1e2}\n', "--json").json()["id"]
    assert payloads(tmp_path / "data") == {'{"b": 1.10,  "a": 1e2}'}
    assert '"payload":{"b":1.10,"a":1e2}' in on_store("job", "show", identity, "--json").out
    assert '{"b":1.10,"a":1e2}' in on_store("job", "show", identity).out
    on_store("job", "edit", identity, "--payload", "1e400")
    assert payloads(tmp_path / "data") == {"1e400"}
    assert '"payload":1e400,' in on_store("job", "list", "--json").out
    on_store("job", "edit", identity, "--payload", "2.50")
    assert payloads(tmp_path / "data") == {"2.50"}


def test_a_payload_can_come_from_the_standard_input(tmp_path: Path) -> None:
    said = typed(tmp_path, *ECHO, "--payload", "-", "--json", "--data", "data", given='["from", "a", "pipe"]')
    assert json.loads(said.stdout)["payload"] == ["from", "a", "pipe"]
    assert "a new one was made" in said.stderr


def test_a_list_says_that_there_is_more_and_all_follows_the_pages(on_store: Command, tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text('{"handler": "test.echo"}\n' * 130)
    on_store("import", "many.jsonl")
    short = on_store("job", "list", "--limit", "3", "--json")
    assert len(short.lines()) == 3
    assert "first 3" in short.err
    whole = on_store("job", "list", "--all", "--json")
    assert len({job["id"] for job in whole.lines()}) == 130
    assert not whole.err
    exact = on_store("job", "list", "--limit", "130", "--json")
    assert len(exact.lines()) == 130
    assert not exact.err


def test_a_list_is_filtered(on_store: Command) -> None:
    wanted = added(on_store, "--name", "wanted", "--schedule", "on-demand")
    added(on_store, "--name", "other")
    for flags in (("--name", "wanted"), ("--search", "want"), ("--status", "scheduled", "--name", "wanted")):
        assert [job["id"] for job in on_store("job", "list", *flags, "--json").lines()] == [wanted]
    assert "no jobs" in on_store("job", "list", "--handler", "nobody.has").out


def test_ids_are_never_cut_however_narrow_the_terminal(on_store: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = added(on_store, "--name", "a name that is far too long for any terminal that is so narrow")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert identity in on_store("job", "list").out


def test_an_edit_changes_what_is_given_and_heeds_the_version(on_store: Command) -> None:
    identity = added(on_store, "--schedule", "@every 1h", "--name", "before")
    changed = on_store("job", "edit", identity, "--priority", "90", "--payload", "[1]", "--json").json()
    assert (changed["priority"], changed["payload"], changed["name"]) == (90, [1], "before")
    stale = str(changed["version"] - 1)
    assert "version" in on_store("job", "edit", identity, "--name", "late", "--version", stale, code=4).err
    assert "nothing to change" in on_store("job", "edit", identity, code=2).err


def test_a_job_is_paused_and_resumed(on_store: Command) -> None:
    first, second = (added(on_store, "--schedule", "@every 1h") for _ in range(2))
    assert on_store("job", "pause", first, second).out == f"job {first} is paused\njob {second} is paused\n"
    assert {job["status"] for job in on_store("job", "list", "--json").lines()} == {"PAUSED"}
    assert on_store("job", "resume", first, "--json").json()["status"] == "SCHEDULED"


def test_a_trigger_is_a_run_of_its_own_that_can_be_cancelled(on_store: Command) -> None:
    identity = added(on_store, "--schedule", "on-demand")
    run = on_store("job", "trigger", identity, "--key", "k", "--json").json()
    assert on_store("job", "trigger", identity, "--key", "k", "--quiet").out.strip() == run["id"]
    assert [each["id"] for each in on_store("run", "list", "--job", identity, "--json").lines()] == [run["id"]]
    on_store("job", "cancel", identity)
    assert on_store("run", "show", run["id"], "--json").json()["status"] == "CANCELLED"


def test_a_deleted_job_is_gone(on_store: Command) -> None:
    identity = added(on_store)
    assert on_store("job", "delete", identity).out == f"job {identity} is deleted\n"
    assert f"there is no job {identity}" in on_store("job", "show", identity, code=3).err


def test_an_owner_is_a_label_that_lists_heed(on_store: Command) -> None:
    mine = added(on_store, "--owner", "me")
    added(on_store, "--owner", "you")
    assert [job["id"] for job in on_store("job", "list", "--owner", "me", "--json").lines()] == [mine]


def test_an_unknown_id_is_told_apart_from_no_id_at_all(on_store: Command) -> None:
    assert "there is no job" in on_store("job", "pause", str(uuid4()), code=3).err
    assert "valid UUID" in on_store("job", "pause", "seven", code=2).err
