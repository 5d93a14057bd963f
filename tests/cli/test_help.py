import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from mainspring.cli.main import app
from tests.cli.commands import Command


def leaves(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    children = getattr(command, "commands", {})
    if path:
        yield path
    for name, child in children.items():
        yield from leaves(child, *path, name)


COMMANDS = list(leaves(get_command(app)))

EXPECTED = """
    serve api scheduler worker migrate seed simulate bench doctor top import
    job.add job.list job.show job.edit job.pause job.resume job.trigger job.cancel job.delete
    run.list run.show run.cancel run.retry run.logs dead.list dead.show dead.requeue dead.discard
    worker.list worker.drain worker.resume lock.acquire lock.renew lock.release lock.show lock.list schedule.next
    key.create key.list key.revoke audit.verify
"""


def test_all_commands_are_there() -> None:
    assert {".".join(path) for path in COMMANDS} >= set(EXPECTED.split())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_each_command_explains_itself(command: Command, path: tuple[str, ...]) -> None:
    said = command(*path, "--help").out
    assert said.startswith(f"Usage: mainspring {' '.join(path)}")
    assert "\b" not in said


def test_examples_stand_line_by_line(command: Command) -> None:
    assert "\n    mainspring run logs ID --follow\n" in command("run", "logs", "--help").out


@pytest.mark.parametrize(
    ("typed", "meant"), [(("jbo",), "job"), (("job", "lst"), "list"), (("docter",), "doctor"), (("impotr",), "import")]
)
def test_a_mistyped_command_is_answered_with_the_nearest(command: Command, typed: tuple[str, ...], meant: str) -> None:
    assert f"'{meant}'" in command(*typed, code=2).err.rpartition("Did you mean")[2]


def test_alone_it_takes_ten_lines_at_most(command: Command) -> None:
    said = command().out
    assert len(said.splitlines()) <= 10
    assert all(len(line) <= 120 for line in said.splitlines())


@pytest.mark.parametrize("arguments", [["--help"], ["job", "add", "--help"], []], ids=["help", "job add", "alone"])
def test_help_loads_nothing_that_takes_time(arguments: list[str]) -> None:
    # Not pydantic: Typer itself needs it as soon as a command is found.
    heavy = ("httpx", "fastapi", "rich", "asyncio", "apsw", "structlog", "uvloop")
    program = f"""
import sys
from mainspring.cli.main import run
sys.argv = ["mainspring", *{arguments!r}]
try:
    run()
except SystemExit:
    pass
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stderr == "[]\n"


def test_a_command_to_a_server_loads_nothing_of_a_server() -> None:
    parts = "mainspring.cli.options, mainspring.cli.printing, mainspring.cli.server, mainspring.wiring.loops"
    heavy = ("fastapi", "starlette", "structlog", "apsw")
    program = f"import sys, {parts}; print([name for name in {heavy!r} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


def test_a_worker_starts_without_an_http_client_and_without_a_web_framework() -> None:
    # Only webhooks and declared schedules call anybody, nobody calls who has no port, and each takes long to load.
    heavy = ("aiohttp", "httpx", "fastapi", "starlette", "uvicorn", "pydantic")
    program = f"import sys, mainspring.wiring.running; print([name for name in {heavy!r} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


def test_completion_is_offered_for_the_shell() -> None:
    program = "from mainspring.cli.main import run; run()"
    environment = {"_MAINSPRING_COMPLETE": "complete_bash", "COMP_WORDS": "mainspring job tr", "COMP_CWORD": "2"}
    said = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['mainspring']; " + program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.stdout.split() == ["trigger"]
