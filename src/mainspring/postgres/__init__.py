"""Jobs and successes in your own PostgreSQL transaction: they are there when it commits, and never were if it doesn't.

    async with connection.transaction():
        await connection.execute("insert into invoice …")
        await mainspring.postgres.add(connection, [new_job("mail.send", {"to": …})])

The connection may be asyncpg's, psycopg's or SQLAlchemy's, blocking or not: those that are awaited give an awaitable.
"""

from mainspring.client.requests import NewJob as NewJob
from mainspring.client.requests import new_job as new_job
from mainspring.postgres.adding import Enqueued as Enqueued
from mainspring.postgres.adding import add as add
from mainspring.postgres.settling import settle as settle
