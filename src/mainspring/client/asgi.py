"""A server in the same process: requests go to an ASGI application directly, without a socket.

Unlike httpx's own transport it hands on what the application sends as it is sent, so that event streams work.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import httpx

Message = MutableMapping[str, Any]
Application = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]
_END = None


class AsgiTransport(httpx.AsyncBaseTransport):
    """Hands requests to *application*, which must have been started by whoever owns it."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer as soon as the application has begun to."""
        exchange = _Exchange(await request.aread())
        exchange.begin(self._application, _scope(request))
        try:
            status, headers = await exchange.started
        except BaseException:
            await exchange.aclose()
            raise
        read_timeout = request.extensions.get("timeout", {}).get("read")
        return httpx.Response(status, headers=headers, stream=_Body(exchange, read_timeout), request=request)


class _Exchange:
    """One request in the application's hands."""

    def __init__(self, body: bytes) -> None:
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[tuple[int, list[tuple[bytes, bytes]]]] = loop.create_future()
        self.chunks: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue(maxsize=64)
        self._body: bytes | None = body
        self._gone = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self, application: Application, scope: Message) -> None:
        self._task = asyncio.create_task(self._run(application, scope))

    async def aclose(self) -> None:
        """Tell the application that nobody listens any more, and end it."""
        self._gone.set()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self, application: Application, scope: Message) -> None:
        try:
            await application(scope, self._receive, self._send)
        except Exception as error:  # noqa: BLE001 - a server would break the connection off
            failure = httpx.RemoteProtocolError(f"the application failed: {error!r}")
            if not self.started.done():
                self.started.set_exception(failure)
                return
            await self.chunks.put(failure)
        else:
            if not self.started.done():
                self.started.set_exception(httpx.RemoteProtocolError("the application gave no answer"))
                return
            await self.chunks.put(_END)

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started.set_result((message["status"], list(message.get("headers", ()))))
        elif message["type"] == "http.response.body":
            if message.get("body"):
                await self.chunks.put(message["body"])
            if not message.get("more_body"):
                await self.chunks.put(_END)


class _Body(httpx.AsyncByteStream):
    def __init__(self, exchange: _Exchange, read_timeout: float | None) -> None:
        self._exchange = exchange
        self._read_timeout = read_timeout

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            try:
                async with asyncio.timeout(self._read_timeout):
                    chunk = await self._exchange.chunks.get()
            except TimeoutError:
                raise httpx.ReadTimeout("nothing came") from None
            if chunk is _END:
                return
            if isinstance(chunk, BaseException):
                raise chunk
            yield chunk

    async def aclose(self) -> None:
        await self._exchange.aclose()


def _scope(request: httpx.Request) -> Message:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.split(b"?")[0],
        "query_string": request.url.query,
        "server": (request.url.host, request.url.port),
        "client": ("127.0.0.1", 0),
        "root_path": "",
    }
