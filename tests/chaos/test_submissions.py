"""The two tests of chaos that S1 names: processes with the settings that everybody has, killed with `kill -9`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.documents.pasting import Reader, until
from tests.documents.starting import Started, started
from tests.documents.submitting import details, ended, submit

pytestmark = pytest.mark.chaos

GONE_ON = timedelta(seconds=15)
"""As long as a scheduler may be silent before another takes its place."""


class Cluster:
    """An API, and two schedulers and workers that can be killed."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self._folder = folder
        self._running = running
        api = running.enter_context(started(folder, "api", "--port", "0"))
        self.reader = Reader({8080: api.ports(1)[0]})
        running.callback(self.reader.close)
        self.schedulers = {name: self.start("scheduler", name) for name in ("scheduler-1", "scheduler-2")}
        self.workers = {name: self.start("worker", name) for name in ("worker-1", "worker-2")}
        for process in (*self.schedulers.values(), *self.workers.values()):
            process.lines("session.opened")

    def start(self, role: str, name: str) -> Started:
        return self._running.enter_context(started(self._folder, role, f"--{role}-name", name))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with ExitStack() as running:
        yield Cluster(tmp_path, running)


def gone_on(moments: Callable[[], list[datetime]]) -> list[datetime]:
    """The latest moments, newest first, once they have gone on for long enough."""
    before = until(moments, lambda found: found)[0]
    return until(moments, lambda found: found[0] - before >= GONE_ON)


class TestPickerFailure:
    def test_another_scheduler_goes_on_when_one_is_killed(self, cluster: Cluster) -> None:
        """S1-14, 51. Each is killed once, so that the one who leads is among them."""
        identity = submit(cluster.reader, payload="tick", cron_schedule="@every 1s")

        def moments() -> list[datetime]:
            runs = details(cluster.reader, identity)["runs"]
            return [datetime.fromisoformat(run["triggered_at"]) for run in runs if run["completed_at"]]

        for name, scheduler in cluster.schedulers.items():
            scheduler.kill()
            seen = gone_on(moments)
            assert {later - earlier for later, earlier in pairwise(seen)} == {timedelta(seconds=1)}, "none is missing"
            cluster.start("scheduler", name).lines("session.opened")


class TestWorkerFailure:
    def test_a_job_of_a_killed_worker_is_executed_by_another(self, cluster: Cluster) -> None:
        """S1-14."""
        identity = submit(cluster.reader, payload="cmd:sleep 5; echo done")
        [run] = until(lambda: details(cluster.reader, identity)["runs"], lambda runs: runs and runs[0]["worker_id"])
        cluster.workers[run["worker_id"]].kill()
        job = ended(cluster.reader, identity)
        assert (job["status"], job["runs"][0]["output"]) == ("completed", "done\n")
        assert job["runs"][0]["worker_id"] != run["worker_id"]
