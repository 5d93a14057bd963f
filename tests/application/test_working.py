"""What an embedded worker does to the program around it: to its errors, its output and its logging."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring import App
from mainspring.adapters.system.clock import SystemClock
from mainspring.errors import StoreCorrupt
from mainspring.wiring import roles as wiring_roles
from mainspring.worker.waiting import until_any
from mainspring.worker.worker import Worker

LONG = timedelta(seconds=60)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/mainspring.db")
    yield app
    app.close()


async def test_what_the_block_raises_comes_as_it_is(app: App) -> None:
    mistake = KeyError("mine")
    with pytest.raises(KeyError) as caught:
        async with app.worker():
            raise mistake
    assert caught.value is mistake


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Once set, the worker fails with a defect; the store's own error stands for any."""
    fails = asyncio.Event()

    class Failing(Worker):
        async def run(self, stop: asyncio.Event, hurry: asyncio.Event) -> Any:  # noqa: ARG002 - it never gets there
            await until_any(SystemClock(), LONG, stop, fails)
            if fails.is_set():
                raise StoreCorrupt("the file is damaged")

    monkeypatch.setattr(wiring_roles, "Worker", Failing)
    return fails


async def test_a_worker_that_fails_interrupts_the_block_and_its_error_comes_as_it_is(
    app: App, failing: asyncio.Event
) -> None:
    async def block() -> None:
        async with app.worker():
            failing.set()
            await asyncio.Event().wait()

    with pytest.raises(StoreCorrupt, match="the file is damaged"):
        await block()
    assert not _this_task().cancelling()


async def test_only_where_the_block_failed_as_well_both_come_as_a_group(app: App, failing: asyncio.Event) -> None:
    async def block() -> None:
        async with app.worker():
            failing.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise KeyError("mine") from None

    with pytest.raises(ExceptionGroup) as caught:
        await block()
    assert [type(each) for each in caught.value.exceptions] == [KeyError, StoreCorrupt]


async def test_a_timeout_around_the_block_stays_one(app: App, failing: asyncio.Event) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), app.worker():
            await asyncio.Event().wait()
    assert not failing.is_set()
    assert not _this_task().cancelling()


async def test_the_end_of_the_program_is_not_hidden_behind_a_failure_of_ours(app: App, failing: asyncio.Event) -> None:
    async def block() -> None:
        async with app.worker():
            failing.set()
            try:
                await asyncio.Event().wait()
            finally:
                raise SystemExit(3)

    with pytest.raises(SystemExit) as caught:
        await block()
    assert caught.value.code == 3


PROGRAM = """
import asyncio, logging, sys
from datetime import timedelta
from mainspring import App
from mainspring.adapters.system.clock import SystemClock

app = App(sys.argv[1])

@app.task(retries=0)
async def work() -> int:
    app.context.log.warning("halfway", percent=50)
    return 7

async def main() -> None:
    {before}
    async with app.worker():
        print(await (await work.submit()).result(at_most=timedelta(seconds=60)))

asyncio.run(main())
"""


def output_of(tmp_path: Path, before: str) -> tuple[str, str]:
    program = PROGRAM.format(before=before)
    command = [sys.executable, "-c", program, f"sqlite:///{tmp_path}/mainspring.db"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return ran.stdout, ran.stderr


def test_without_logging_a_program_prints_what_is_its_own_and_warnings_go_to_the_standard_error(tmp_path: Path) -> None:
    printed, said = output_of(tmp_path, "pass")
    assert printed == "7\n"
    assert said.splitlines() == [said.strip()]
    assert "halfway" in said
    assert "percent=50" in said


def test_the_programs_own_logging_decides_where_our_lines_go_and_how_they_look(tmp_path: Path) -> None:
    file = tmp_path / "own.log"
    before = f"logging.basicConfig(filename={str(file)!r}, level='INFO', format='%(name)s|%(levelname)s|%(message)s')"
    assert output_of(tmp_path, before) == ("7\n", "")
    lines = file.read_text(encoding="utf-8").splitlines()
    assert any(line.startswith("mainspring.worker|INFO|session.opened session=") for line in lines)
    [own] = [line for line in lines if line.startswith("mainspring.handler|WARNING|halfway")]
    assert "percent=50" in own


def test_a_program_that_has_configured_structlog_gets_our_events_there(tmp_path: Path) -> None:
    before = (
        "import structlog; structlog.configure(processors=[structlog.processors.JSONRenderer()], "
        "logger_factory=structlog.PrintLoggerFactory(sys.stderr))"
    )
    printed, said = output_of(tmp_path, before)
    assert printed == "7\n"
    assert '"event": "session.opened"' in said


def _this_task() -> "asyncio.Task[Any]":
    task = asyncio.current_task()
    assert task is not None
    return task
