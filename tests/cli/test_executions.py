import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring.cli.runs import news
from tests.cli.commands import PROGRAM, Command, serving, typed

FAILING = ("test.delay", "--payload", '{"durationMs": 1, "shouldFail": true, "failMessage": "on purpose"}')


def test_waiting_for_a_success_ends_with_0_and_shows_the_result(on_server: Command) -> None:
    said = on_server("job", "add", "test.echo", "--payload", '{"hello": "world"}', "--wait")
    first, second, result = said.out.splitlines()
    assert " added: test.echo" in first
    assert second.endswith("completed")
    assert "world" in result


def test_waiting_for_a_failure_ends_with_1_and_says_why(on_server: Command) -> None:
    said = on_server("job", "add", *FAILING, "--retries", "0", "--wait", code=1)
    assert "failed: " in said.out
    assert "on purpose" in said.out


def test_programs_get_the_execution_that_was_waited_for(on_server: Command) -> None:
    run = on_server("job", "add", "test.echo", "--payload", "[1]", "--wait", "--json").json()
    assert (run["status"], run["attempt"]) == ("COMPLETED", 1)
    again = on_server("job", "trigger", run["job_id"], "--wait", "--json").json()
    assert again["status"] == "COMPLETED"
    assert again["id"] != run["id"]


def test_waiting_has_an_end(on_server: Command) -> None:
    said = on_server("job", "add", "test.echo", "--schedule", "in 1h", "--wait", "--wait-timeout", "1s", code=1)
    assert "no result within" in said.err


def test_waiting_can_be_given_up_and_the_job_goes_on(on_server: Command, server_url: str) -> None:
    waiting = [sys.executable, "-c", PROGRAM, "job", "add", "test.echo", "--schedule", "in 1h", "--wait"]
    with subprocess.Popen([*waiting, "--url", server_url], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        identity = process.stdout.readline().split()[1]
        process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    assert on_server("job", "show", identity, "--json").json()["status"] == "SCHEDULED"


def test_waiting_where_nobody_works_says_so(on_store: Command) -> None:
    said = on_store("job", "add", "test.echo", "--wait", "--wait-timeout", "1s", code=1)
    assert "no worker is alive" in said.err


def test_a_store_can_be_used_beside_the_server_that_works_on_it(command: Command, tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        run = command("job", "add", "test.echo", "--wait", "--json", "--data", str(tmp_path / "data")).json()
        assert run["status"] == "COMPLETED"
        assert command("run", "show", run["id"], "--json", "--url", url).json() == run


def test_an_execution_is_listed_and_shown_with_its_attempts(on_server: Command) -> None:
    run = on_server("job", "add", "test.echo", "--wait", "--json").json()
    assert run["id"] in on_server("run", "list", "--status", "completed", "--limit", "1000").out
    shown = on_server("run", "show", run["id"]).out
    assert "COMPLETED" in shown
    assert "outcome" in shown


def test_a_running_execution_is_cancelled(on_server: Command) -> None:
    job = on_server("job", "add", "test.echo", "--schedule", "in 1h", "--json").json()
    assert on_server("run", "cancel", job["id"]).out.endswith("is being cancelled\n")
    assert "cancel" in on_server("run", "cancel", job["id"], code=4).err


def test_a_dead_letter_is_found_shown_and_run_again(on_server: Command) -> None:
    run = on_server("job", "add", *FAILING, "--retries", "0", "--wait", "--json", code=1).json()
    [letter] = on_server("dead", "list", "--job", run["job_id"], "--json").lines()
    assert letter["id"] == run["id"]
    assert letter["fingerprint"] in on_server("dead", "list", "--job", run["job_id"]).out
    assert "on purpose" in on_server("dead", "show", run["id"]).out
    again = on_server("dead", "requeue", run["id"], "--json").json()
    assert again["retry_of"] == run["id"]
    assert "no dead letter" in on_server("dead", "show", run["id"], code=3).err


def test_dead_letters_are_requeued_by_filter_and_discarded(on_server: Command) -> None:
    run = on_server("job", "add", *FAILING, "--retries", "0", "--wait", "--json", code=1).json()
    assert on_server("dead", "requeue", "--job", run["job_id"]).out == "requeued 1 dead letter\n"
    other = on_server("job", "add", *FAILING, "--retries", "0", "--wait", "--json", code=1).json()
    on_server("dead", "discard", other["id"])
    assert not on_server("dead", "list", "--job", other["job_id"], "--json").lines()
    assert "or choose by" in on_server("dead", "requeue", code=2).err
    assert "or choose by" in on_server("dead", "requeue", run["id"], "--all", code=2).err


def test_a_failed_execution_is_retried_by_a_new_one(on_server: Command) -> None:
    run = on_server("job", "add", *FAILING, "--retries", "0", "--wait", "--json", code=1).json()
    again = on_server("run", "retry", run["id"], "--wait", "--json", code=1).json()
    assert again["retry_of"] == run["id"]
    done = on_server("job", "add", "test.echo", "--wait", "--json").json()
    on_server("run", "retry", done["id"], code=4)


def test_logs_are_what_was_printed(on_server: Command) -> None:
    payload = json.dumps({"command": "sh", "args": ["-c", "echo one; echo two"]})
    run = on_server("job", "add", "shell.command", "--payload", payload, "--wait", "--json").json()
    assert on_server("run", "logs", run["id"]).out == "one\ntwo\n"
    assert on_server("run", "logs", run["id"], "--json").json() == {"id": run["id"], "output": "one\ntwo\n"}


def test_logs_can_be_followed_to_the_end(on_server: Command, server_url: str, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = f"echo begin; while ! test -e {gate}; do sleep 0.1; done; echo end"
    payload = json.dumps({"command": "sh", "args": ["-c", script]})
    job = on_server("job", "add", "shell.command", "--payload", payload, "--json").json()
    following = [sys.executable, "-c", PROGRAM, "run", "logs", job["id"], "--follow", "--url", server_url]
    with subprocess.Popen(following, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        gate.touch()
        assert process.stdout.read() == "end\n"
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ("", "one\n", "one\n"),
        ("one\n", "one\ntwo\n", "two\n"),
        ("one\n", "one\n", ""),
        ("head" + "x" * 500, "head\n… left out …\n" + "x" * 450 + "tail", "tail"),
        ("gone", "something else", "\n…\nsomething else"),
    ],
)
def test_only_what_is_new_of_an_output_is_printed(before: str, now: str, new: str) -> None:
    assert news(before, now) == new


def test_workers_are_listed(on_server: Command) -> None:
    [worker] = on_server("worker", "list", "--json").lines()
    assert worker["id"] in on_server("worker", "list").out


def test_a_worker_is_drained_and_resumed_while_its_process_goes_on(on_server: Command) -> None:
    [worker] = on_server("worker", "list", "--json").lines()
    assert on_server("worker", "drain", worker["id"]).out.startswith(f"worker {worker['id']} is drain")
    while on_server("worker", "list", "--json").json()["status"] != "drained":
        pass
    said = on_server("job", "add", "test.echo", "--wait", "--wait-timeout", "1s", code=1)
    assert "every live worker is draining, so it waits" in said.err
    assert on_server("worker", "resume", worker["id"], "--json").json()["session"] == worker["session"]
    assert on_server("job", "add", "test.echo", "--wait", "--json").json()["status"] == "COMPLETED"


def test_a_worker_that_is_not_alive_can_not_be_drained(on_server: Command) -> None:
    assert "there is no live worker 'nobody/at all'" in on_server("worker", "drain", "nobody/at all", code=3).err


def test_a_whole_program_ends_as_it_says(server_url: str, tmp_path: Path) -> None:
    said = typed(tmp_path, "job", "add", *FAILING, "--retries", "0", "--wait", "--json", MAINSPRING_URL=server_url)
    assert said.returncode == 1
    assert json.loads(said.stdout)["status"] == "FAILED"
