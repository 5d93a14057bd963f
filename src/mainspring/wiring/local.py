"""The API without a socket: for a program that works on a store of its own, by the same rules as everybody."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mainspring.api.app import create_app
from mainspring.client import Client
from mainspring.client.asgi import AsgiTransport
from mainspring.wiring.listening import api_ports
from mainspring.wiring.resources import Resources

URL = "http://mainspring.local"


@asynccontextmanager
async def local_client(resources: Resources, *, owner: str | None = None) -> AsyncIterator[Client]:
    """A client of the API over *resources*; whoever has the store needs no key."""
    application = create_app(await api_ports(resources), hosts=None, access=None)
    async with Client(URL, owner=owner, transport=AsgiTransport(application)) as client:
        yield client
