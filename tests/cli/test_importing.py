import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Command, payloads, typed

GOOD: dict[str, Any] = {"handler": "test.echo", "schedule": "on-demand"}


def written(path: Path, *jobs: object) -> Path:
    path.write_text("".join(f"{job if isinstance(job, str) else json.dumps(job)}\n" for job in jobs))
    return path


def number_of_jobs(command: Command) -> int:
    return len(command("job", "list", "--all", "--json").lines())


@pytest.mark.slow
def test_five_thousand_lines_imported_twice_are_five_thousand_jobs(on_store: Command, tmp_path: Path) -> None:
    file = written(tmp_path / "jobs.jsonl", *({**GOOD, "payload": number} for number in range(5000)))
    assert on_store("import", str(file)).out == "5,000 jobs of 5,000 lines are stored\n"
    assert on_store("import", str(file)).out == "5,000 jobs of 5,000 lines are stored, 5,000 of them from before\n"
    jobs = on_store("job", "list", "--all", "--json").lines()
    assert sorted(job["payload"] for job in jobs) == list(range(5000))


def test_lines_keep_their_own_keys(on_store: Command, tmp_path: Path) -> None:
    file = written(tmp_path / "jobs.jsonl", {**GOOD, "key": "mine"}, "", GOOD)
    on_store("import", str(file))
    keys = {job["key"] for job in on_store("job", "list", "--json").lines()}
    assert "mine" in keys
    assert [key for key in keys if key.startswith("import-") and key.endswith("-3")]


def test_what_is_no_json_is_told_before_anything_is_sent(on_store: Command, tmp_path: Path) -> None:
    bad = ('{"handler": ', "[1]", '{"handler": "test.echo", "handler": "twice"}', '{"handler": "x", "payload": NaN}')
    file = written(tmp_path / "jobs.jsonl", GOOD, *bad)
    said = on_store("import", str(file), "--batch", "1", code=1)
    assert [line.split(":")[1] for line in said.err.splitlines()] == [" line 2", " line 3", " line 4", " line 5"]
    assert "nothing was stored" in said.out
    assert number_of_jobs(on_store) == 0


def test_nothing_of_a_bad_batch_is_stored_and_its_lines_are_named(on_store: Command, tmp_path: Path) -> None:
    jobs = [GOOD, GOOD, GOOD, {**GOOD, "priority": 101}, {"schedule": "now"}, GOOD]
    file = written(tmp_path / "jobs.jsonl", *jobs)
    said = on_store("import", str(file), "--batch", "2", "--json", code=1)
    summary = said.json()
    assert [fault["line"] for fault in summary["faults"]] == [4, 5]
    assert "priority" in summary["faults"][0]["detail"]
    assert (summary["lines"], summary["stored"]) == (6, 2)
    assert number_of_jobs(on_store) == 2


def test_a_corrected_file_is_resumed_and_stores_nothing_twice(on_store: Command, tmp_path: Path) -> None:
    file = written(tmp_path / "jobs.jsonl", GOOD, GOOD, {**GOOD, "priority": -1})
    identity = on_store("import", str(file), "--batch", "2", "--json", code=1).json()["import"]
    written(file, GOOD, GOOD, {**GOOD, "priority": 1})
    on_store("import", str(file), "--batch", "2", "--resume", identity)
    assert number_of_jobs(on_store) == 3


def test_a_line_that_was_stored_can_not_become_another_job(on_store: Command, tmp_path: Path) -> None:
    file = written(tmp_path / "jobs.jsonl", GOOD, GOOD)
    identity = on_store("import", str(file), "--json").json()["import"]
    written(file, GOOD, {**GOOD, "payload": "changed"})
    said = on_store("import", str(file), "--resume", identity, code=1)
    assert "line 2:" in said.err
    assert "another body" in said.err


def test_checking_sends_nothing(on_store: Command, tmp_path: Path) -> None:
    file = written(tmp_path / "jobs.jsonl", GOOD)
    assert "nothing was sent" in on_store("import", str(file), "--check").out
    assert number_of_jobs(on_store) == 0


def test_a_pipe_can_be_imported(tmp_path: Path) -> None:
    said = typed(tmp_path, "import", "-", "--data", "data", given=f"{json.dumps(GOOD)}\n" * 3)
    assert said.stdout == "3 jobs of 3 lines are stored\n"


def test_a_file_that_is_not_there_is_named(on_store: Command) -> None:
    assert "nowhere.jsonl can't be read" in on_store("import", "nowhere.jsonl", code=2).err


def test_new_jobs_are_told_from_those_that_were_there(on_store: Command, tmp_path: Path) -> None:
    first = {**GOOD, "key": "first"}
    on_store("import", str(written(tmp_path / "one.jsonl", first)))
    summary = on_store("import", str(written(tmp_path / "two.jsonl", GOOD, first, GOOD)), "--json").json()
    assert (summary["stored"], summary["new"], summary["existing"]) == (3, 2, 1)


def test_payloads_arrive_as_they_were_written(on_store: Command, tmp_path: Path) -> None:
    texts = ['{"b": 1.10,  "a": 1e2}', "2.50", "1e400", "-0.0", "12345678901234567890.123456789"]
    lines = [f'{{"handler": "test.echo", "schedule": "on-demand", "payload": {text} }}' for text in texts]
    lines.append('{"handler": "test.echo", "key": null, "payload": 3.30}')
    on_store("import", str(written(tmp_path / "jobs.jsonl", *lines)))
    assert payloads(tmp_path / "data") == {*texts, "3.30"}
