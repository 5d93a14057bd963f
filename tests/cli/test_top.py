import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

from mainspring.cli.live import Rate
from tests.cli.commands import PROGRAM, Command


def test_one_frame_shows_figures_workers_and_executions(on_server: Command) -> None:
    run = on_server("job", "add", "test.echo", "--wait", "--json").json()
    said = on_server("top", "--once").out
    assert run["id"] in said
    assert "COMPLETED" in said
    assert "workers: 1, schedulers: 1" in said
    assert " completed" in said
    assert max(map(len, said.splitlines())) <= 140


def test_a_frame_without_anything_going_on(on_store: Command) -> None:
    said = on_store("top", "--once").out
    assert "no worker is alive" in said
    assert "Mainspring sqlite:///" in said
    assert "nothing has run yet" in said


def test_programs_get_the_frame_as_json(on_server: Command) -> None:
    assert on_server("top", "--json").json().keys() == {"health", "metrics", "workers", "executions"}


def test_the_rate_is_that_of_the_last_seconds() -> None:
    rate = Rate()
    assert rate.of(100, now=0.0) is None
    assert rate.of(110, now=1.0) == 10.0
    assert {rate.of(100 + 10 * second, now=float(second)) for second in range(2, 10)} == {10.0}
    assert rate.of(190, now=14.0) == 0.0


def press_q(_: subprocess.Popen[bytes], terminal: int) -> None:
    os.write(terminal, b"q")


def interrupt(process: subprocess.Popen[bytes], _: int) -> None:
    process.send_signal(signal.SIGINT)


@pytest.mark.parametrize("leave", [press_q, interrupt])
def test_the_live_view_is_left_at_once(server_url: str, leave: Callable[[subprocess.Popen[bytes], int], None]) -> None:
    terminal, ours = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "top", "--url", server_url],
        stdin=ours,
        stdout=ours,
        stderr=ours,
        start_new_session=True,
    )
    os.close(ours)
    drawn = b""
    while b"latest executions" not in drawn:
        drawn += os.read(terminal, 65536)
    leave(process, terminal)
    with suppress(OSError):  # which Linux raises when the other side is closed
        while os.read(terminal, 65536):
            pass
    os.close(terminal)
    assert process.wait(timeout=60) == 0
