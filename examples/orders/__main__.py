"""`python -m examples.orders` serves on PostgreSQL, `python -m examples.orders --sqlite` with nothing installed."""

import argparse
import asyncio
import logging
import os
import sys

import uvicorn

from examples.orders.api import api
from examples.orders.database import Database
from examples.orders.on_sqlite import SqliteDatabase
from examples.orders.settings import Settings


def main() -> None:
    """Prepare the database and serve until somebody asks to stop."""
    parser = argparse.ArgumentParser(prog="python -m examples.orders", description="The checkout service.")
    parser.add_argument("--sqlite", action="store_true", help="keep everything in files, in the folder MAINSPRING_DATA")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        settings = Settings.read(os.environ)
    except ValueError as error:
        sys.exit(f"PG_PORT and ORDERS_HTTP_PORT are numbers: {error}")
    database = SqliteDatabase(settings.data) if arguments.sqlite else _postgres(settings)
    uvicorn.run(api(database), host=settings.http_host, port=settings.http_port, log_config=None)


def _postgres(settings: Settings) -> Database:
    # Imported here: the files of SQLite need no driver.
    import asyncpg  # noqa: PLC0415

    from examples.orders.on_postgres import PostgresDatabase  # noqa: PLC0415

    database = PostgresDatabase(settings.postgres_url)
    try:
        # What is wrong with the address is said before anything starts.
        asyncio.run(database.prepare())
    except (OSError, asyncpg.PostgresError) as error:
        where = f"{settings.pg_host}:{settings.pg_port}/{settings.pg_db}"
        sys.exit(f"PostgreSQL can't be used at {where}: {error}\nSet PG_…, or start with --sqlite.")
    return database


if __name__ == "__main__":
    main()
