"""Somebody holds all connections that a server can have: probes are answered meanwhile, and its worker works on."""

import asyncio
from pathlib import Path

import pytest

from tests.attack.conftest import Did
from tests.attack.holder import TRICKS, Trick, held, nothing
from tests.attack.target import Probing, Target, attacked, probed, under
from tests.scenarios.serve.processes import embedded

DESCRIPTORS = 150
CONNECTIONS = 145
"""More than are left beside the store, so that a server without a bound has none for anybody else."""
SHELL_JOBS = 40
LONG_HOLD, SHORT_HOLD = 20.0, 5.0
"""Seconds at least; each takes as long as the jobs take besides."""
MOST_MEMORY = 300
"""Megabytes that all connections together may take."""
MOST_LOG_LINES = 200
"""A server that can't accept says so, but not once for each time it tries."""


async def worked_on(target: Target, seconds: float) -> Probing:
    """For at least so long, submit and await shell jobs, which need descriptors of their own: none may fail once."""
    async with probed(target) as probing:
        least = asyncio.create_task(asyncio.sleep(seconds))
        jobs = []
        for number in range(SHELL_JOBS):
            job = {"handler": "shell.command", "payload": {"command": "echo", "args": [str(number)]}, "max_retries": 0}
            jobs.append(await target.submitted_at_last(f"shell-{number}", **job))
            await asyncio.sleep(seconds / SHELL_JOBS / 2)
        executions = [await target.ended(job) for job in jobs]
        await least
    charged = [(each["status"], each["attempt"], each["error"]) for each in executions]
    assert set(charged) == {("COMPLETED", 1, None)}, charged
    return probing


def megabytes(target: Target) -> int:
    """What the server's process has in memory."""
    status = Path(f"/proc/{target.running.process.pid}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


async def assert_endured(tmp_path: Path, trick: Trick, seconds: float, did: Did) -> None:
    program = under(descriptors=DESCRIPTORS)
    async with attacked(embedded(tmp_path), program=program) as target, held(target.port, trick, CONNECTIONS) as holder:
        before = megabytes(target)
        probing = await worked_on(target, seconds)
        taken = megabytes(target) - before
        counts = {"closed_by_the_server": holder.closed, "probes": probing.asked, "jobs": SHELL_JOBS}
        did(connections=holder.opened, **counts, megabytes=taken)
        assert holder.opened >= CONNECTIONS / 2
        assert not probing.faults, probing.faults
        assert not target.complaints()
        assert taken < MOST_MEMORY
        assert len(target.running.lines) < MOST_LOG_LINES


async def test_a_server_outlives_connections_that_send_nothing(tmp_path: Path, did: Did) -> None:
    await assert_endured(tmp_path, nothing, SHORT_HOLD, did)


@pytest.mark.attack
@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
async def test_a_server_outlives_connections_that_are_held_by(tmp_path: Path, trick: Trick, did: Did) -> None:
    await assert_endured(tmp_path, trick, LONG_HOLD, did)
