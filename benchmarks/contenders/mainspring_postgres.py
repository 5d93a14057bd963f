"""Mainspring on PostgreSQL: the same class as on its embedded store, at another place."""

from collections.abc import Iterable

import psycopg
from psycopg import sql

from benchmarks.child import serve
from benchmarks.contender import Description, Place, Server, Traits
from benchmarks.contenders.mainspring import MainspringContender
from benchmarks.postgres_count import count
from mainspring.domain.ids import RunId

PAYLOADS = b"""
    select q.payload from mainspring.queue q where q.id = any(%(ids)s)
    union all select h.payload from mainspring.history h where h.id = any(%(ids)s)
"""
COLUMNS = b"""
    select column_name from information_schema.columns
    where table_schema = 'mainspring' and table_name = 'history' and column_name not in ('id', 'job_id')
    order by ordinal_position
"""
REMEMBER = sql.SQL("""
    insert into mainspring.history (id, job_id, {columns})
    select fresh.id, fresh.id, {columns}
    from (
        select encode(
            substring(int8send((extract(epoch from now()) * 1000)::bigint) from 3)
                || substring(uuid_send(gen_random_uuid()) from 7),
            'hex'
        )::uuid as id
        from generate_series(1, %s)
    ) as fresh
    cross join (select {columns} from mainspring.history limit 1) as example
""")
"""Copies of a run that has ended, each a job of its own, all in the partition of this week. Ids begin with the time."""


class MainspringPostgresContender(MainspringContender):
    description = Description(
        title="Mainspring (PostgreSQL)",
        settings="all services and one worker with the default 32 slots in each process, journal on",
        keeps="every run with its times, attempts and result",
        loses="nothing; a run whose process dies between its effect and the journal write runs again",
    )
    traits = Traits(server=Server.POSTGRESQL)

    def waiting(self, place: Place) -> int:
        return count(place.url, "select count(*) from mainspring.queue")

    def payloads(self, place: Place, runs: Iterable[RunId]) -> list[bytes]:
        with psycopg.connect(place.url, autocommit=True) as connection:
            return [row[0] for row in connection.execute(PAYLOADS, {"ids": list(runs)})]

    def fill_history(self, place: Place, count: int) -> None:
        with psycopg.connect(place.url, autocommit=True) as connection:
            names = [sql.Identifier(row[0]) for row in connection.execute(COLUMNS)]
            connection.execute(REMEMBER.format(columns=sql.SQL(", ").join(names)), [count])


CONTENDER = MainspringPostgresContender

if __name__ == "__main__":
    serve(CONTENDER())
