from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.api.app import create_app
from mainspring.client import Client
from mainspring.client.asgi import Application, AsgiTransport
from mainspring.client.retrying import Retrying
from mainspring.wiring.listening import api_ports
from mainspring.wiring.resources import opened
from mainspring.wiring.settings import Settings

URL = "http://127.0.0.1:8080"
QUICK = Retrying(first=timedelta(milliseconds=1), longest=timedelta(milliseconds=5))


@pytest.fixture
async def application(tmp_path: Path) -> AsyncIterator[Application]:
    """The whole API over a store of its own, called without a socket."""
    async with opened(Settings(data=tmp_path)) as resources:
        yield create_app(await api_ports(resources), hosts=None, access=None)


@pytest.fixture
async def client(application: Application) -> AsyncIterator[Client]:
    async with Client(URL, transport=AsgiTransport(application), retrying=QUICK) as client:
        yield client
