"""Whatever way a run ends, its programs end with it."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.testing.clock import ManualClock
from mainspring.worker.flow import Fail
from mainspring.worker.handlers.shell import GRACE
from tests.scenarios.handlers.programs import a_shell, alive, gone, number_in, script, written
from tests.unit.handlers.contexts import a_context, output_of

GRANDCHILD = "sh -c \"trap '' TERM HUP; echo \\$\\$ > {0}/number; mv {0}/number {0}/grandchild; exec sleep 600\" &"


async def test_a_timeout_kills_grandchildren_at_once(tmp_path: Path) -> None:
    context = a_context()
    with a_shell() as shell:
        text = f"trap '' TERM; echo begun; {GRANDCHILD.format(tmp_path)} wait"
        task = asyncio.create_task(shell.script(text, context))
        grandchild = await number_in(tmp_path / "grandchild")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await gone(grandchild)
    assert output_of(context) == b"begun\n"


async def test_a_run_that_is_asked_to_stop_may_tidy_up(tmp_path: Path) -> None:
    context = a_context()
    with a_shell() as shell:
        text = f"trap 'echo tidied; exit 0' TERM; {GRANDCHILD.format(tmp_path)} while :; do wait; done"
        task = asyncio.create_task(shell.script(text, context))
        grandchild = await number_in(tmp_path / "grandchild")
        context.cancelled.set()
        assert await task == {"exit_code": 0}
        assert await gone(grandchild)
    assert output_of(context) == b"tidied\n"


async def test_a_run_that_ends_because_it_was_asked_to_has_not_failed(tmp_path: Path) -> None:
    context = a_context()
    with a_shell() as shell:
        task = asyncio.create_task(shell.script(f"{GRANDCHILD.format(tmp_path)} wait", context))
        grandchild = await number_in(tmp_path / "grandchild")
        context.cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await gone(grandchild)


async def test_a_run_that_does_not_listen_is_killed_after_the_grace(tmp_path: Path) -> None:
    context, clock = a_context(), ManualClock()
    with a_shell(clock=clock) as shell:
        program = (
            f"trap 'echo yes > {tmp_path}/asked' TERM; echo $$ > {tmp_path}/leader; while :; do sleep 600 & wait; done"
        )
        task = asyncio.create_task(shell.script(program, context))
        leader = await number_in(tmp_path / "leader")
        context.cancelled.set()
        assert await written(tmp_path / "asked") == "yes\n"
        clock.advance(GRACE - timedelta(milliseconds=1))
        await asyncio.sleep(0)
        assert alive(leader)
        clock.advance(timedelta(milliseconds=1))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await gone(leader)


async def test_what_a_finished_program_left_behind_is_killed(tmp_path: Path) -> None:
    context = a_context()
    with a_shell() as shell:
        text = f"{GRANDCHILD.format(tmp_path)} while ! test -e {tmp_path}/grandchild; do sleep 0.01; done; echo done"
        assert await shell.script(text, context) == {"exit_code": 0}
        assert await gone(await number_in(tmp_path / "grandchild"))
    assert output_of(context) == b"done\n"


ESCAPE = """
import os
os.setsid()
with open("escaped", "w") as file:
    file.write(f"{os.getpid()}\\n")
os.execlp("sleep", "sleep", "600")
"""


async def test_a_program_that_left_the_group_does_not_keep_the_run_waiting(tmp_path: Path) -> None:
    (tmp_path / "escape.py").write_text(ESCAPE)
    text = "python3 escape.py & while ! test -s escaped; do sleep 0.01; done; echo done"
    context = a_context()
    with a_shell() as shell:
        assert await shell.script(script(text, cwd=str(tmp_path)), context) == {"exit_code": 0}
    escaped = await number_in(tmp_path / "escaped")
    assert alive(escaped)
    os.kill(escaped, signal.SIGKILL)
    assert output_of(context) == b"done\n"


async def test_programs_are_watched_also_where_the_kernel_has_no_descriptors_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.worker.handlers.processes._open_pidfd", lambda _: None)
    context = a_context()
    with a_shell() as shell:
        assert await shell.script("echo hi", context) == {"exit_code": 0}
        task = asyncio.create_task(shell.script(f"{GRANDCHILD.format(tmp_path)} wait", context))
        grandchild = await number_in(tmp_path / "grandchild")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await gone(grandchild)
    assert output_of(context) == b"hi\n"


WORKER = """
import asyncio, pathlib, sys
from mainspring.worker.handlers.guardian import Guardian
from tests.scenarios.handlers.programs import a_shell
from tests.unit.handlers.contexts import a_context

watch = Guardian.watch

def watch_and_tell(guardian, group):
    watch(guardian, group)
    pathlib.Path(sys.argv[2]).write_text("1\\n")

Guardian.watch = watch_and_tell
with a_shell() as shell:
    asyncio.run(shell.script(sys.argv[1], a_context()))
"""


async def test_programs_die_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    text = f"trap '' TERM; {GRANDCHILD.format(tmp_path)} echo $$ > {tmp_path}/leader; wait"
    watched = tmp_path / "watched"
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WORKER, text, str(watched)), cwd=Path(__file__).parents[3]
    )
    try:
        await number_in(watched)
        leader, grandchild = await number_in(tmp_path / "leader"), await number_in(tmp_path / "grandchild")
    finally:
        worker.kill()
        await worker.wait()
    assert await gone(leader)
    assert await gone(grandchild)


async def test_a_guardian_that_dies_is_replaced(tmp_path: Path) -> None:
    with a_shell() as shell:
        await shell.script("true", a_context())
        first = shell._guardian._process
        assert first is not None
        first.kill()
        first.wait()
        task = asyncio.create_task(shell.script(f"{GRANDCHILD.format(tmp_path)} wait", a_context()))
        grandchild = await number_in(tmp_path / "grandchild")
        # What is still watched when the handlers are closed is killed by the guardian alone.
        shell.close()
        assert await gone(grandchild)
        with pytest.raises(Fail, match="killed by SIGKILL"):
            await task
