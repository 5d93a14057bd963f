"""Whoever watches over the service learns that its database is away, and that it is back."""

import asyncio
from pathlib import Path

from servers.postgres import PostgresServer
from tests.orders.serving import Place, client, served


async def test_a_service_without_its_database_says_so(postgres_server: PostgresServer, tmp_path: Path) -> None:
    place = Place(folder=tmp_path, url=postgres_server.url())
    with served(place) as service:
        async with client(service.url()) as shop:
            assert (await shop.get("/healthz")).text == "OK"
            await asyncio.to_thread(postgres_server.stop)
            away = await shop.get("/healthz")
            assert (away.status_code, away.headers["content-type"]) == (503, "text/plain; charset=utf-8")
            assert away.text.startswith("the database doesn't answer: ")
            await asyncio.to_thread(postgres_server.start)
            assert (await shop.get("/healthz")).status_code == 200
