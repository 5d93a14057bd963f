"""A receiver of webhooks on a free port of the loopback, and a worker's end that may reach it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from mainspring.ports.tracing import UNTRACED, Tracing
from mainspring.testing.clock import ManualClock
from mainspring.worker.handlers.policy import NetworkPolicy
from mainspring.worker.handlers.target import Resolve
from mainspring.worker.handlers.webhook import Webhook

Answerer = Callable[[web.Request], Awaitable[web.StreamResponse]]

TRUSTED = NetworkPolicy(trusted=True)


class Receiver:
    """Remembers every request with its body and answers as it was told."""

    def __init__(self, answer: Answerer) -> None:
        self._answer = answer
        self.requests: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def receive(self, request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request, web.Request)
        self.requests.append(request)
        self.bodies.append(await request.read())
        return await self._answer(request)


async def answer_ok(_: web.Request) -> web.StreamResponse:
    return web.Response(text="thanks")


def answering(status: int, **fields: Any) -> Answerer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, **fields)

    return answer


@asynccontextmanager
async def receiving(answer: Answerer = answer_ok, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Receiver]:
    """A receiver that listens for as long as the block runs."""
    receiver = Receiver(answer)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", receiver.receive)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        receiver.port = runner.addresses[0][1]
        yield receiver
    finally:
        await runner.cleanup()


async def resolve_nothing(host: str, port: int) -> Sequence[str]:
    raise AssertionError(f"nobody may resolve {host}:{port} here")


@asynccontextmanager
async def calling(
    *,
    network: NetworkPolicy = TRUSTED,
    key: bytes | None = None,
    resolve: Resolve = resolve_nothing,
    tracing: Tracing = UNTRACED,
) -> AsyncIterator[Webhook]:
    """The handler, closed at the end of the block; it resolves no names unless told how."""
    webhook = Webhook(network=network, key=key, clock=ManualClock(), resolve=resolve, tracing=tracing)
    try:
        yield webhook
    finally:
        await webhook.close()
