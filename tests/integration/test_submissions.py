"""The suite of the document about submissions, S1, under the names that it has there.

`pytest tests/integration -k TestShellScriptExecution` runs one of them. TestS3OffloadingAndMetrics and TestSQSRestart
need adapters that don't exist yet. How long each took stands in the results that `make test` writes.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.documents.pasting import Reader, until
from tests.documents.starting import started
from tests.documents.submitting import details, ended, submit

AT_ONCE = 100


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Everything in one process, on the port of the document."""
    with started(tmp_path_factory.mktemp("submissions"), "serve", "--port", "0") as running:
        reader = Reader({8080: running.ports(1)[0]})
        running.lines("process.started")
        yield reader
        reader.close()


def completed(job: Any) -> list[Any]:
    return [run for run in job["runs"] if run["status"] == "completed"]


def recurring(reader: Reader, payload: str, cron: str, runs: int) -> list[Any]:
    """The runs of a job, once so many have completed; then it is cancelled."""
    identity = submit(reader, payload=payload, cron_schedule=cron)
    job = until(lambda: details(reader, identity), lambda found: len(completed(found)) >= runs)
    reader.json(f"curl -X DELETE http://localhost:8080/jobs/{identity}", 202)
    return completed(job)


class TestCommandExecution:
    def test_a_command_is_executed_and_its_output_kept(self, reader: Reader) -> None:
        """S1-39, 40, 91."""
        job = ended(reader, submit(reader, payload="cmd:echo hello from a command"))
        assert (job["status"], job["runs"][0]["output"]) == ("completed", "hello from a command\n")


class TestImmediateJobExecution:
    def test_a_job_without_a_time_is_executed_at_once(self, reader: Reader) -> None:
        """S1-41."""
        job = ended(reader, submit(reader, payload="nothing but a text"))
        assert (job["status"], job["next_fire_at"]) == ("completed", None)


class TestLoad:
    def test_a_hundred_jobs_at_once_are_all_executed(self, reader: Reader) -> None:
        """S1-42, 90."""
        with ThreadPoolExecutor(20) as users:
            jobs = list(users.map(lambda number: submit(reader, "crowd", payload=f"{number}"), range(AT_ONCE)))

        def states() -> dict[str, str]:
            listed = reader.json("curl http://localhost:8080/jobs -H 'X-User-ID: crowd'", 200)
            return {job["job_id"]: job["status"] for job in listed}

        assert until(states, lambda found: set(found.values()) == {"completed"}).keys() == set(jobs)


class TestRecurringJobExecution:
    def test_a_cron_with_seconds_fires_again_and_again(self, reader: Reader) -> None:
        """S1-43."""
        moments = [datetime.fromisoformat(run["triggered_at"]) for run in recurring(reader, "tick", "* * * * * *", 2)]
        assert {later - earlier for later, earlier in pairwise(moments)} == {timedelta(seconds=1)}


class TestRecurringShellScript:
    def test_four_runs_of_a_script_succeed_one_after_the_other(self, reader: Reader) -> None:
        """S1-44."""
        runs = recurring(reader, "cmd:for word in one two; do echo $word; done", "@every 1s", 4)
        assert {run["output"] for run in runs} == {"one\ntwo\n"}
        assert len({run["run_id"] for run in runs}) == len(runs)


class TestScheduledJobExecution:
    def test_a_job_waits_for_its_time_and_is_executed_then(self, reader: Reader) -> None:
        """S1-46."""
        due = datetime.now(UTC) + timedelta(seconds=2)
        identity = submit(reader, next_fire_at=due.isoformat())
        assert details(reader, identity)["status"] == "pending"
        job = ended(reader, identity)
        assert job["status"] == "completed"
        assert datetime.fromisoformat(job["runs"][0]["completed_at"]) >= due


class TestShellScriptExecution:
    def test_a_script_of_2418_bytes_is_executed_whole(self, reader: Reader) -> None:
        """S1-47, 92. Where it is kept doesn't show; in S3 it will be once there is an adapter."""
        lines = "\n".join(f"total=$((total + {number}))" for number in range(200))
        script = f"cmd:{lines}"[: 2418 - 12].rpartition("\n")[0]
        script = f"{script}\n{'#' * (2418 - 13 - len(script))}\necho $total"
        assert len(script) == 2418
        job = ended(reader, submit(reader, payload=script))
        counted = script.count("total +")
        assert (job["status"], job["runs"][0]["output"]) == ("completed", f"{sum(range(counted))}\n")
