"""What the sessions of a thousand idle workers cost the server, where workers announce themselves to it."""

import time

from benchmarks.contender import HoldsSessions
from benchmarks.figures import Figure
from benchmarks.stage import Stage


def measure(stage: Stage) -> list[Figure]:
    if stage.server_cpu_seconds() is None or not isinstance(stage.contender, HoldsSessions):
        return []
    with stage.client() as client:
        client.ask("hold_sessions", count=stage.sizes.sessions)
        before, started = stage.server_cpu_seconds() or 0.0, time.monotonic()
        time.sleep(stage.sizes.sessions_span.total_seconds())
        after, ended = stage.server_cpu_seconds() or 0.0, time.monotonic()
    return [
        Figure(name="sessions", value=stage.sizes.sessions, unit="sessions"),
        Figure(name="sessions.server_cpu", value=(after - before) * 100 / (ended - started), unit="%"),
    ]
