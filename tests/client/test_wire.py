"""The client over real sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta

import pytest

from mainspring import sync
from mainspring.api.server import Server, bind, url_of
from mainspring.client import Client
from mainspring.client.asgi import Application
from mainspring.client.errors import Unreachable
from mainspring.client.retrying import Retrying
from mainspring.client.wire import WireTransport

ONCE = Retrying(tries=1)
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def url(application: Application) -> AsyncIterator[str]:
    sockets = bind("127.0.0.1", [0])
    stop = asyncio.Event()
    serving = asyncio.create_task(Server(application, sockets).run(stop))
    yield url_of(sockets[0])
    stop.set()
    await serving


@asynccontextmanager
async def answering(handle: Handle) -> AsyncIterator[str]:
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_many_callers_share_a_client(url: str) -> None:
    async with Client(url) as client:
        jobs = await asyncio.gather(*(client.submit("test.echo", number) for number in range(100)))
        assert sorted(job.payload for job in jobs) == list(range(100))
        listed = [job.id async for job in client.jobs()]
    assert sorted(listed) == sorted(job.id for job in jobs)


async def test_large_bodies_pass_both_ways(url: str) -> None:
    payload = {"text": "ä" * 300_000}
    async with Client(url) as client:
        job = await client.submit("test.echo", payload)
        assert (await client.job(job)).payload == payload


async def test_connections_are_used_again() -> None:
    connections: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    async with answering(handle) as url, Client(url) as client:
        for _ in range(5):
            await client.metrics()
    assert len(connections) == 1
    connections[0].close()


@pytest.mark.parametrize("announced", [b"Connection: close\r\n", b""])
async def test_a_connection_that_the_server_has_closed_is_not_used_again(announced: bytes) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + announced + b"\r\n{}")
        writer.close()

    transport = WireTransport()
    async with answering(handle) as url, Client(url, retrying=ONCE, transport=transport) as client:
        for _ in range(3):
            assert await client.metrics() == {}
            while any(wire.alive for wires in transport._idle.values() for wire in wires):  # noqa: ASYNC110 - the loop itself notices
                await asyncio.sleep(0)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", b"nonsense\r\n\r\n"])
async def test_an_answer_that_breaks_off_is_no_answer(answer: bytes) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with answering(handle) as url, Client(url, retrying=ONCE) as client:
        with pytest.raises(Unreachable):
            await client.metrics()


async def test_a_silent_server_is_left_after_the_timeout() -> None:
    done = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await done.wait()
        writer.close()

    async with answering(handle) as url, Client(url, retrying=ONCE, timeout=timedelta(milliseconds=50)) as client:
        with pytest.raises(Unreachable, match="too long"):
            await client.metrics()
        done.set()


async def test_events_arrive_while_they_happen(url: str) -> None:
    async with Client(url) as client, aclosing(client.events()) as events:  # type: ignore[type-var]  # it is a generator
        listening = asyncio.ensure_future(anext(events))
        while not listening.done():
            job = await client.submit("test.echo", schedule="on-demand")
            await asyncio.sleep(0.05)
            await client.pause(job)
        assert (await listening).type in {"job", "run", "reset", "counts"}


async def test_the_blocking_client_speaks_to_the_same_server(url: str) -> None:
    def speak() -> None:
        with sync.Client(url) as client:
            job = client.submit("test.echo", {"n": 1}, key="k", schedule="on-demand")
            assert client.job(job.id) == job
            assert [each.id for each in client.jobs(key="k")] == [job.id]
            assert client.trigger(job).job_id == job.id
            assert client.preview("0 6 * * *", count=2)
            with client.lock("a/b? c") as lease:
                assert lease.token > 0
                assert client.held_lock("a/b? c").holder == lease.holder
                assert [held.name for held in client.held_locks()] == ["a/b? c"]
            assert list(client.held_locks()) == []

    await asyncio.to_thread(speak)
