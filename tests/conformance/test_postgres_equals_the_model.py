"""PostgreSQL beside the model, on a server whose clock the test moves.

Functions called `now` and `clock_timestamp` stand before the server's own in the search path of every connection: the
adapter can't know the difference.
"""

from collections.abc import Coroutine, Iterator
from typing import Any, ClassVar, TypeVar

import asyncpg
import psycopg
import pytest
from hypothesis import settings

from mainspring.adapters.postgres import engine
from mainspring.adapters.postgres.engine import Purpose
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.testing.clock import ManualClock
from mainspring.testing.contracts.equality import EqualsTheModelWithTickets, OpenStore
from tests.conformance.emptying import empty

T = TypeVar("T")

# It passes in seconds, but making a failure short enough to read may take minutes.
pytestmark = pytest.mark.timeout(600)

HANDS = """
CREATE SCHEMA clock;
CREATE TABLE clock.hands (at timestamptz NOT NULL);
INSERT INTO clock.hands VALUES (pg_catalog.now());
CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM clock.hands';
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM clock.hands';
"""


@pytest.fixture(autouse=True)
def server(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(HANDS)
    own = engine.settings

    def with_a_clock(purpose: Purpose, schema: str) -> dict[str, str]:
        # Each setting stands between quotes, in which a path of several schemas has to be three values.
        return {**own(purpose, schema), "search_path": f"{schema}', 'clock', 'pg_catalog"}

    monkeypatch.setattr(engine, "settings", with_a_clock)
    PostgresEqualsTheModel.url = postgres_url
    yield
    PostgresEqualsTheModel.url = ""


class PostgresEqualsTheModel(EqualsTheModelWithTickets):
    url: ClassVar[str]
    hands: "asyncpg.Connection[asyncpg.Record]"

    async def open_store(self, clock: ManualClock) -> OpenStore:
        self.hands = await asyncpg.connect(self.url)
        try:
            await self.follow(clock)
            with psycopg.connect(self.url) as connection:
                empty(connection)
            return await PostgresStore.open(self.url, clock=clock, random=SystemRandom())
        except BaseException:
            await self.hands.close()
            raise

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        self.runner.run(self.follow(self.clock))
        return super().run(step)

    async def follow(self, clock: ManualClock) -> None:
        """Let the server's clock show what ours does."""
        await self.hands.execute("UPDATE clock.hands SET at = $1", clock.now())

    def teardown(self) -> None:
        self.runner.run(self.hands.close())
        super().teardown()


TestPostgresEqualsTheModel = PostgresEqualsTheModel.TestCase
TestPostgresEqualsTheModel.settings = settings(max_examples=8, stateful_step_count=25)
