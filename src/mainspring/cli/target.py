"""Whom a command talks to: a server, or a store straight away, over the same API without a socket."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.errors import ConfigurationError
from mainspring.wiring.dotenv import read_dotenv
from mainspring.wiring.reading import read_settings
from mainspring.wiring.settings import Settings

if TYPE_CHECKING:
    from mainspring.cli.server import Server
    from mainspring.wiring.resources import Resources

ANY_ADDRESS = frozenset({"0.0.0.0", "::", "[::]"})  # noqa: S104 - nothing is bound here
LOCAL = "http://mainspring.local"
TRIES = 4
"""Somebody waits at the terminal: less patience than a program has."""
PATIENCE = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the flags say; None where nothing was given."""

    url: str | None = None
    api_key: str | None = None
    owner: str | None = None
    store: str | None = None
    data: str | None = None

    @property
    def direct(self) -> bool:
        """Whether a store was named, so that no server is asked."""
        return self.store is not None or self.data is not None


@asynccontextmanager
async def connected(target: Target, *, may_create: bool = False) -> AsyncIterator["Server"]:
    """The server that is meant; Unreachable or ConfigurationError if there is none.

    A store that was named is created only by a command that *may_create* one.
    """
    if target.direct:
        if target.url is not None:
            raise ConfigurationError("--url names a server and --store or --data a store: give one of them")
        flags = {name: text for name, text in (("store", target.store), ("data", target.data)) if text is not None}
        settings = read_settings(flags=flags, environment=os.environ, dotenv=read_dotenv(Path(".env")))
        from mainspring.wiring.resources import opened  # noqa: PLC0415 - imported when it is needed

        missing = missing_file(settings)
        async with opened(settings, may_create=may_create) as resources:
            if missing is not None:
                sys.stderr.write(f"mainspring: there was no store, so a new one was made: {missing}\n")
            async with over(resources, owner=target.owner) as server:
                yield server
        return
    variables = {**read_dotenv(Path(".env")), **os.environ}
    url = target.url or variables.get("MAINSPRING_URL")
    key = target.api_key or variables.get("MAINSPRING_KEY")
    async with speaking(url or nearby_url(variables), key=key, owner=target.owner) as server:
        if not url:
            # Nobody said that there is a server: find out before something waits for it.
            await server.health()
        yield server


@asynccontextmanager
async def over(resources: "Resources", *, owner: str | None = None) -> AsyncIterator["Server"]:
    """The API in this process; whoever can open the store needs no key."""
    from mainspring.api.app import create_app  # noqa: PLC0415 - imported when it is needed
    from mainspring.cli.server import Server  # noqa: PLC0415
    from mainspring.client.asgi import AsgiTransport  # noqa: PLC0415
    from mainspring.wiring.listening import api_ports  # noqa: PLC0415

    application = create_app(await api_ports(resources), hosts=None, access=None)
    async with Server(LOCAL, owner=owner, transport=AsgiTransport(application), timeout=PATIENCE) as server:
        server.store = resources.settings.shown_store
        yield server


def missing_file(settings: Settings) -> Path | None:
    """The file of the embedded store, if it isn't there yet."""
    from mainspring.wiring.stores import file_of, shared_folder  # noqa: PLC0415 - imported when it is needed

    if shared_folder(settings.store_url) is None or file_of(settings.store_url).exists():
        return None
    return file_of(settings.store_url)


def nearby_url(variables: Mapping[str, str]) -> str:
    """Where a server of this machine listens under the same settings."""
    settings = read_settings(flags={}, environment=variables)
    host = "127.0.0.1" if settings.host in ANY_ADDRESS else settings.host
    port = next((port for port in settings.ports if port), 8080)
    return f"http://[{host}]:{port}" if ":" in host and not host.startswith("[") else f"http://{host}:{port}"


@asynccontextmanager
async def speaking(url: str, *, key: str | None, owner: str | None = None) -> AsyncIterator["Server"]:
    """The server at *url*."""
    from mainspring.cli.server import Server  # noqa: PLC0415 - imported when it is needed
    from mainspring.client.retrying import Retrying  # noqa: PLC0415

    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(f"{url!r} isn't the URL of a server: write one like http://127.0.0.1:8080")
    async with Server(url, key=key, owner=owner, timeout=PATIENCE, retrying=Retrying(tries=TRIES)) as server:
        yield server
