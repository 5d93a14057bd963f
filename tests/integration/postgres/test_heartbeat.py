"""Heartbeats are many, and each is soon out of date: they don't wait for the disk, and all else does."""

from datetime import timedelta

import psycopg

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.domain.outcome import Succeeded, judge
from mainspring.ports.sessions import News
from mainspring.testing.factories import Factory, a_session

WATCHED = """
SET search_path = {schema};
CREATE TABLE seen (change text NOT NULL, durable text NOT NULL);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO seen VALUES (tg_table_name || ' ' || tg_op, current_setting('synchronous_commit'));
    RETURN NULL;
END $$;
CREATE TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON queue EXECUTE FUNCTION see();
CREATE TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON session EXECUTE FUNCTION see();
"""


async def test_only_heartbeats_commit_without_the_disk(store: PostgresStore, make: Factory, postgres_url: str) -> None:
    schema = address(postgres_url).schema
    with psycopg.connect(postgres_url) as connection:
        connection.execute(WATCHED.format(schema=schema))
        connection.commit()
        runs = make.runs(2)
        lanes = [runs[0].task.lane]

        session = await store.sessions.open(a_session())
        await store.work.add(runs)
        (ticket,) = await store.tickets.take(lanes, 1, timedelta(minutes=1))
        (named,) = await store.tickets.start(session, [ticket])
        (claimed,) = (await store.work.claim(session, lanes, 1)).attempts
        assert named is not None
        await store.work.next_wake(lanes)
        await store.sessions.beat(session, News())
        await store.work.settle([judge(run, Succeeded(), now=make.moment, uniform=0) for run in (named, claimed)])

        seen = connection.execute("SELECT change, durable FROM seen").fetchall()

    assert seen == [
        ("session INSERT", "on"),
        ("queue INSERT", "on"),
        ("queue UPDATE", "on"),  # a ticket is given out,
        ("queue UPDATE", "on"),  # and starts its run
        ("queue UPDATE", "on"),
        ("session UPDATE", "off"),
        ("queue DELETE", "on"),
    ]
