"""A real server on a free port, and a client that talks to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from fastapi import FastAPI

from mainspring.api.server import Server, bind, url_of


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[aiohttp.ClientSession]:
    sockets = bind("127.0.0.1", [0])
    url = url_of(sockets[0])
    stop = asyncio.Event()
    serving = asyncio.create_task(Server(app, sockets).run(stop))
    try:
        async with aiohttp.ClientSession(url) as session:
            yield session
    finally:
        stop.set()
        await serving
