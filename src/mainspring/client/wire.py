"""HTTP/1.1 over asyncio's own streams: what httpx uses for it spends milliseconds per request on a pool of 32.

Idle connections lie on a stack, so that taking one costs the same however many there are. Everything else of a request
(URLs, headers, the body's encoding) stays httpx's, and h11 speaks the protocol.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.request import getproxies

import h11
import httpx

MOST_IDLE = 64
_CHUNK = 65_536
_BUSY_BUFFER = 65_536

Origin = tuple[str, str, int]


def async_default_transport() -> httpx.AsyncBaseTransport | None:
    """The transport of a client that was given none; None leaves proxies, where there are any, to httpx."""
    return None if getproxies() else WireTransport()


def default_transport() -> httpx.BaseTransport | None:
    """The same for the blocking client, which has no pool to speak of."""
    return None


class WireTransport(httpx.AsyncBaseTransport):
    """Requests over connections that are kept, each for one request at a time."""

    def __init__(self) -> None:
        self._idle: dict[Origin, list[_Wire]] = {}
        self._tls: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer as soon as its head is there."""
        timeouts = request.extensions.get("timeout", {})
        body = await request.aread()
        wire = self._taken(origin := _origin(request)) or await self._opened(origin, timeouts.get("connect"))
        try:
            head = await wire.ask(request, body, timeouts.get("read"))
        except BaseException:
            wire.close()
            raise
        stream = _Body(self, origin, wire, timeouts.get("read"))
        return httpx.Response(head.status_code, headers=head.headers.raw_items(), stream=stream, request=request)

    async def aclose(self) -> None:
        """Close what is idle; answers that are still read close their own."""
        idle = [wire for wires in self._idle.values() for wire in wires]
        self._idle.clear()
        for wire in idle:
            wire.close()
        for wire in idle:
            await wire.closed()

    def give_back(self, origin: Origin, wire: "_Wire") -> None:
        """Keep a connection for the next request, if it can have one."""
        idle = self._idle.setdefault(origin, [])
        if wire.next_cycle() and len(idle) < MOST_IDLE:
            idle.append(wire)
        else:
            wire.close()

    def _taken(self, origin: Origin) -> "_Wire | None":
        idle = self._idle.get(origin, [])
        while idle:
            wire = idle.pop()
            if wire.alive:
                return wire
            wire.close()
        return None

    async def _opened(self, origin: Origin, at_most: float | None) -> "_Wire":
        scheme, host, port = origin
        if scheme == "https" and self._tls is None:
            self._tls = httpx.create_ssl_context()
        with _translated(httpx.ConnectError, httpx.ConnectTimeout):
            async with asyncio.timeout(at_most):
                tls = self._tls if scheme == "https" else None
                return _Wire(*await asyncio.open_connection(host, port, ssl=tls))


class _Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.CLIENT)

    @property
    def alive(self) -> bool:
        """Whether the other side hasn't hung up, as far as one can know."""
        return not self._reader.at_eof() and not self._writer.is_closing()

    async def ask(self, request: httpx.Request, body: bytes, at_most: float | None) -> h11.Response:
        """Send a request and read the head of its answer."""
        head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
        sent = [self._protocol.send(head)]
        if body:
            sent.append(self._protocol.send(h11.Data(data=body)))
        sent.append(self._protocol.send(h11.EndOfMessage()))
        with _translated(httpx.WriteError, httpx.WriteTimeout):
            self._writer.write(b"".join(each for each in sent if each))
            if len(body) > _BUSY_BUFFER:
                async with asyncio.timeout(at_most):
                    await self._writer.drain()
        while True:
            event = await self.event(at_most)
            if isinstance(event, h11.Response):
                return event

    async def event(self, at_most: float | None) -> Any:
        """The next part of the answer."""
        with _translated(httpx.ReadError, httpx.ReadTimeout):
            while (event := self._protocol.next_event()) is h11.NEED_DATA:
                async with asyncio.timeout(at_most):
                    self._protocol.receive_data(await self._reader.read(_CHUNK))
        return event

    def next_cycle(self) -> bool:
        """Whether another request may follow."""
        if self._protocol.our_state is not h11.DONE or self._protocol.their_state is not h11.DONE:
            return False
        self._protocol.start_next_cycle()
        return self.alive

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    async def closed(self) -> None:
        """Return when nothing of the connection is left."""
        with suppress(OSError):
            await self._writer.wait_closed()


class _Body(httpx.AsyncByteStream):
    def __init__(self, owner: WireTransport, origin: Origin, wire: _Wire, read_timeout: float | None) -> None:
        self._owner = owner
        self._origin = origin
        self._wire = wire
        self._read_timeout = read_timeout

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not isinstance(event := await self._wire.event(self._read_timeout), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)

    async def aclose(self) -> None:
        self._owner.give_back(self._origin, self._wire)


def _origin(request: httpx.Request) -> Origin:
    url = request.url
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


@contextmanager
def _translated(broken: type[httpx.NetworkError], late: type[httpx.TimeoutException]) -> Iterator[None]:
    """Errors of the network in httpx's words."""
    try:
        yield
    except TimeoutError as error:
        raise late(str(error) or "it took too long") from error
    except (OSError, ssl.SSLError) as error:
        raise broken(str(error)) from error
    except h11.RemoteProtocolError as error:
        raise httpx.RemoteProtocolError(str(error)) from error
