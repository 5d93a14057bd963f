import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from datetime import timedelta
from typing import Any

import httpx
import pytest

from mainspring import sync
from mainspring.client import Client, Event, JobCancelled, JobFailed, Lease
from mainspring.client.errors import LockBusy, LockLost, ResultTimeout, Unavailable
from mainspring.client.streaming import EventReader
from tests.client.conftest import QUICK, URL

EXECUTION = {
    "id": "01890a5d-ac96-774b-bcce-b302099a8057",
    "job_id": "01890a5d-ac96-774b-bcce-b302099a8057",
    "status": "RUNNING",
    "fire_time": "2030-01-01T00:00:00Z",
    "attempt": 1,
    "priority": 50,
    "a_field_of_the_future": [1, 2],
}
JOB_ID = EXECUTION["job_id"]


def test_an_event_is_made_of_its_lines() -> None:
    reader = EventReader()
    text = 'retry: 250\n: hello\n\nid: 7\nevent: job\ndata: {"id":\ndata: 1}\n\ndata: plain\n\nevent: empty\n\nid: 9'
    events = [event for line in text.split("\n") if (event := reader.feed(line))]
    assert events == [Event(id="7", type="job", data={"id": 1}), Event(id="7", type="message", data="plain")]
    assert (reader.last_event_id, reader.retry_ms) == ("7", 250), "the event that 9 belongs to isn't complete"


class Server(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """Answers each path by a function of the request."""

    def __init__(self, **answers: Callable[[httpx.Request], httpx.Response]) -> None:
        self.answers = answers
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self.answers[request.url.path.removeprefix("/api/v1/").split("/")[0]](request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.handle_request(request)


class Stream(httpx.AsyncByteStream, httpx.SyncByteStream):
    """Chunks in turn; an exception among them breaks the connection."""

    def __init__(self, *chunks: str | Exception) -> None:
        self.chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk.encode()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


async def test_a_broken_stream_goes_on_where_it_broke() -> None:
    streams = [
        Stream('id: 1\ndata: "a"\n\nid: 2\ndata: "half"\n', httpx.ReadError("reset")),
        Stream('id: 2\ndata: "b"\n\n'),
        Stream('id: 3\ndata: "c"\n\n'),
    ]
    server = Server(events=lambda _: httpx.Response(200, stream=streams.pop(0)))
    async with Client(URL, transport=server, retrying=QUICK) as client, aclosing(client.events()) as events:  # type: ignore[type-var]  # it is a generator
        heard = [(await anext(events)).data for _ in range(3)]
    assert heard == ["a", "b", "c"]
    assert [request.headers.get("Last-Event-ID") for request in server.requests] == [None, "1", "2"]


async def test_a_stream_that_cannot_be_opened_again_is_given_up() -> None:
    server = Server(events=lambda _: httpx.Response(503, json={}))
    async with Client(URL, transport=server, retrying=QUICK) as client:
        with pytest.raises(Unavailable):
            await anext(client.events())
    assert len(server.requests) == QUICK.tries


class Run:
    """An execution that ends as soon as the stream has told so."""

    def __init__(self, ending: dict[str, Any], events: httpx.Response | None = None) -> None:
        self.looks = 0
        self.ending = ending
        self.ended = False
        self.events = events

    def executions(self, _: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=self.now())

    def jobs(self, _: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"items": [self.now()], "next": None})

    def now(self) -> dict[str, Any]:
        self.looks += 1
        if self.events is not None and self.looks > 4:
            self.ended = True
        return {**EXECUTION, **(self.ending if self.ended else {})}

    def stream(self, _: httpx.Request) -> httpx.Response:
        if self.events is not None:
            return self.events
        return httpx.Response(200, stream=_Telling(self))

    def server(self) -> Server:
        return Server(executions=self.executions, jobs=self.jobs, events=self.stream)


class _Telling(Stream):
    def __init__(self, run: Run) -> None:
        self.run = run

    def __iter__(self) -> Iterator[bytes]:
        yield b'event: worker\ndata: {"id": "another"}\n\n'
        self.run.ended = True
        yield f"data: {json.dumps({'id': EXECUTION['id']})}\n\n".encode()
        raise AssertionError("nobody should read on")


async def test_a_result_is_there_as_soon_as_an_event_says_so() -> None:
    run = Run({"status": "COMPLETED", "result": {"sum": 5}})
    async with Client(URL, transport=run.server(), retrying=QUICK) as client:
        assert await client.result(str(JOB_ID)) == {"sum": 5}
    assert run.looks == 4, "once before listening, once when it has begun, once told, once for the whole result"


def test_the_blocking_client_waits_in_the_same_way() -> None:
    run = Run({"status": "COMPLETED", "result": {"sum": 5}})
    with sync.Client(URL, transport=run.server(), retrying=QUICK) as client:
        assert client.result(str(JOB_ID)) == {"sum": 5}


@pytest.mark.parametrize("events", [httpx.Response(404, json={}), httpx.Response(403, json={})])
async def test_without_events_a_result_is_polled_for(events: httpx.Response) -> None:
    run = Run({"status": "COMPLETED", "result": 1}, events)
    async with Client(URL, transport=run.server(), retrying=QUICK) as client:
        assert await client.result(str(JOB_ID)) == 1


@pytest.mark.parametrize(
    ("ending", "kind", "words"),
    [
        ({"status": "FAILED", "error": "ValueError: no\nTraceback"}, JobFailed, "ValueError: no$"),
        ({"status": "CANCELLED"}, JobCancelled, "cancelled"),
        ({"status": "SKIPPED", "reason": "overlap"}, JobCancelled, "skipped"),
    ],
)
async def test_a_result_that_never_comes_is_an_error(ending: dict[str, Any], kind: type[JobFailed], words: str) -> None:
    run = Run(ending)
    run.ended = True
    async with Client(URL, transport=run.server(), retrying=QUICK) as client:
        with pytest.raises(kind, match=words) as caught:
            await client.result(str(JOB_ID))
    assert caught.value.execution.status == ending["status"]


async def test_a_result_is_not_awaited_for_ever() -> None:
    run = Run({})
    async with Client(URL, transport=run.server(), retrying=QUICK) as client:
        with pytest.raises(ResultTimeout):
            await client.result(str(JOB_ID), timeout=timedelta(0))


class Locks:
    """One lock, as the wire contract has it."""

    def __init__(self, *, held: bool = False, renewable: bool = True, garbled: bool = False) -> None:
        self.held = held
        self.renewable = renewable
        self.garbled = garbled
        self.calls: list[str] = []
        self.renewed = asyncio.Event()

    def answer(self, request: httpx.Request) -> httpx.Response:
        verb = request.url.path.rsplit("/", 1)[1]
        self.calls.append(verb)
        body = json.loads(request.content)
        if verb == "renew":
            self.renewed.set()
            if self.garbled:
                return httpx.Response(200, content=b"<html>")
        if (verb == "acquire" and self.held) or (verb == "renew" and not self.renewable):
            return httpx.Response(409, headers={"Retry-After": "0"}, json={"detail": "held", "holder": "somebody"})
        lock = {"name": "name", "holder": body["holder"], "token": 7, "expires_at": "2030-01-01T00:00:00Z"}
        return httpx.Response(200, json=lock)


async def test_a_lock_is_renewed_while_it_is_held_and_then_released() -> None:
    locks = Locks()
    async with (
        Client(URL, transport=Server(locks=locks.answer)) as client,
        client.lock("a/b", timedelta(milliseconds=30)) as lease,
    ):
        assert lease.token == 7
        await asyncio.wait_for(locks.renewed.wait(), 60)
    assert locks.calls[0] == "acquire"
    assert locks.calls[-1] == "release"
    assert locks.calls.count("release") == 1


async def test_a_lock_that_is_lost_stops_the_block() -> None:
    locks = Locks(renewable=False)
    async with Client(URL, transport=Server(locks=locks.answer)) as client:
        with pytest.raises(LockLost):
            async with client.lock("name", timedelta(milliseconds=30)):
                await asyncio.Event().wait()
    assert "release" not in locks.calls
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]  # a test is a task


async def test_a_lock_whose_renewal_stays_unknown_is_lost_when_its_time_is_up() -> None:
    locks = Locks(garbled=True)
    async with Client(URL, transport=Server(locks=locks.answer)) as client:
        with pytest.raises(LockLost):
            async with client.lock("name", timedelta(seconds=1)):  # long enough for a second try on a busy machine
                await asyncio.Event().wait()
    assert locks.calls.count("renew") > 1


async def test_whoever_asked_is_told_at_once_that_a_lock_was_lost() -> None:
    told: list[Lease] = []
    locks = Locks(renewable=False)
    async with Client(URL, transport=Server(locks=locks.answer)) as client:
        lease = client.lock("name", timedelta(milliseconds=30), on_lost=told.append)
        with pytest.raises(LockLost):
            async with lease:
                await asyncio.sleep(60)
    assert told == [lease]


async def test_a_lock_is_lost_whatever_becomes_of_telling_it() -> None:
    def fail(_lease: Lease) -> None:
        raise RuntimeError("nobody listens")

    async with Client(URL, transport=Server(locks=Locks(renewable=False).answer)) as client:
        with pytest.raises(LockLost):
            async with client.lock("name", timedelta(milliseconds=30), on_lost=fail):
                await asyncio.sleep(60)


async def test_a_lock_that_stays_busy_says_who_holds_it() -> None:
    async with Client(URL, transport=Server(locks=Locks(held=True).answer)) as client:
        with pytest.raises(LockBusy, match="somebody"):
            async with client.lock("name", wait=timedelta(0)):
                pytest.fail("it isn't ours")


def test_a_thread_learns_at_the_end_that_its_lock_was_lost() -> None:
    locks = Locks(renewable=False)
    told = threading.Event()
    with sync.Client(URL, transport=Server(locks=locks.answer)) as client:
        lease = client.lock("name", timedelta(milliseconds=30), on_lost=lambda _: told.set()).__enter__()
        lease._repeater._thread.join(60)  # type: ignore[union-attr]  # it ends when the lock is lost
        assert told.is_set()
        assert lease.lost
        with pytest.raises(LockLost):
            lease.__exit__(None, None, None)
