"""Heartbeats are many, and each is soon out of date: they don't wait for the disk, and all else does."""

from mainspring.adapters.postgres.engine import Connection, Engine, Purpose
from mainspring.adapters.postgres.sessions import PostgresSessions
from mainspring.adapters.postgres.statements import load
from mainspring.testing.factories import a_session

DURABLE = "SHOW synchronous_commit"


async def test_a_heartbeat_commits_without_the_disk_and_what_follows_on_the_connection_with_it(engine: Engine) -> None:
    session = await PostgresSessions(engine).open(a_session())

    async def beat(connection: Connection) -> tuple[str, ...]:
        before = await connection.fetchval(DURABLE)
        await connection.fetch(load("sessions")["beat"], session, 0, None, False)
        return before, await connection.fetchval(DURABLE)

    assert await engine.write(beat, Purpose.WATCH) == ("on", "off")
    assert await engine.value(DURABLE, purpose=Purpose.WATCH) == "on"
