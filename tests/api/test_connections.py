"""Connections that somebody holds, or leaves: none keeps others out, and none lasts for ever."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
import uvloop
from fastapi import FastAPI, Request, Response
from starlette.requests import ClientDisconnect

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api import accepting, body, connections, server
from mainspring.api.app import create_app
from mainspring.api.connections import Connections
from mainspring.api.measurements import Measurements
from mainspring.api.ports import ApiPorts
from mainspring.api.server import Server, bind
from tests.api.collecting import read
from tests.api.hostile import BATCH, JOBS
from tests.api.keyed import stored_key

PATIENCE = 20.0
"""Seconds after which a connection that should have been closed won't be any more."""
SOON = 0.2
LONG = 3600.0
HELLO = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
EVENTS = b"GET /api/v1/events HTTP/1.%d\r\nHost: localhost\r\n\r\n"
POST = "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{}\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"


class Caller:
    """A connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, sent: bytes) -> None:
        self.writer.write(sent)
        await self.writer.drain()

    async def head(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def answer(self) -> bytes:
        """One answer whose length is told."""
        head = await self.head()
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        async with asyncio.timeout(PATIENCE):
            return head + await self.reader.readexactly(length)

    async def rest(self) -> bytes:
        """What comes until the connection is closed, however it is."""
        got = b""
        async with asyncio.timeout(PATIENCE):
            try:
                while piece := await self.reader.read(65_536):
                    got += piece
            except ConnectionError:
                pass
        return got

    @property
    def open(self) -> bool:
        return not self.reader.at_eof() and self.reader.exception() is None


class Place:
    """A server under bounds, and those who call it."""

    def __init__(self, port: int, bounds: Connections) -> None:
        self.bounds = bounds
        self.stop = asyncio.Event()
        self._port = port
        self._callers: list[Caller] = []

    async def call(self, sent: bytes = b"") -> Caller:
        caller = Caller(*await asyncio.open_connection("127.0.0.1", self._port))
        self._callers.append(caller)
        await caller.send(sent)
        return caller

    async def healthy(self) -> None:
        """A new connection is served."""
        caller = await self.call(HELLO)
        assert (await caller.answer()).startswith(b"HTTP/1.1 200 ")
        caller.writer.close()

    def closed(self) -> dict[str, float]:
        [family] = [each for each in self.bounds.families() if "closed" in each.name]
        return {each.labels["reason"]: each.value for each in family.samples if each.value}

    async def empty(self) -> None:
        """Return once nobody is connected."""
        async with asyncio.timeout(PATIENCE):
            while self.bounds.open:  # noqa: ASYNC110 - what is tested tells nobody
                await asyncio.sleep(0.01)

    async def leave(self) -> None:
        for each in self._callers:
            each.writer.transport.abort()


@asynccontextmanager
async def bounded(app: FastAPI, most: int = 1000, most_per_address: int = 0) -> AsyncIterator[Place]:
    bounds = Connections(most, most_per_address)
    sockets = bind("127.0.0.1", [0])
    place = Place(sockets[0].getsockname()[1], bounds)
    serving = asyncio.create_task(Server(app, sockets, bounds).run(place.stop))
    try:
        yield place
    finally:
        await place.leave()
        place.stop.set()
        await serving


@pytest.fixture
async def place(ports: ApiPorts) -> AsyncIterator[Place]:
    async with bounded(create_app(ports)) as place:
        yield place


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: loc", b"\r\n", b"POST"])
async def test_a_client_that_sends_no_whole_head_is_let_go(
    place: Place, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", SOON)
    monkeypatch.setattr(connections, "LINGER_SECONDS", SOON)
    caller = await place.call(sent)
    assert await caller.rest() == b""
    assert place.closed() == {"slow_head": 1}


async def test_a_head_that_trickles_is_not_waited_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", SOON)
    monkeypatch.setattr(connections, "LINGER_SECONDS", SOON)
    caller = await place.call(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Endless: ")
    ended = asyncio.create_task(caller.rest())
    async with asyncio.timeout(PATIENCE):
        while not ended.done():
            caller.writer.write(b"x")
            await asyncio.sleep(SOON / 10)
    assert await ended == b""


async def test_a_used_connection_is_under_the_same_bounds(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", SOON)
    monkeypatch.setattr(connections, "LINGER_SECONDS", SOON)
    caller = await place.call(HELLO)
    assert (await caller.answer()).endswith(b"OK")
    await caller.send(HELLO[:-2])
    assert await caller.rest() == b""
    assert place.closed() == {"slow_head": 1}


@pytest.mark.parametrize("sent", [b"GET /", b"GET / HTTP/1.1\r\nX-Long: ", b"\r\n"])
async def test_a_head_without_end_is_refused(place: Place, sent: bytes) -> None:
    caller = await place.call(sent)
    ended = asyncio.create_task(caller.rest())
    more = b"\r\n" * 4096 if sent == b"\r\n" else b"x" * 8192
    async with asyncio.timeout(PATIENCE):
        while not ended.done():
            caller.writer.write(more)
            await asyncio.sleep(0)
    assert (await ended)[:12] in (b"HTTP/1.1 431", b"")  # what was still under way may undo the answer
    assert place.closed() == {"long_head": 1}


async def test_trailers_without_end_are_not_kept(place: Place) -> None:
    caller = await place.call(POST.format(JOBS, "localhost", CHUNKED).encode() + b"0\r\n")
    ended = asyncio.create_task(caller.rest())
    async with asyncio.timeout(PATIENCE):
        while not ended.done():
            caller.writer.write(b"x: y\r\n" * 1000)
            await asyncio.sleep(0)
    assert place.closed() == {"long_head": 1}


async def test_who_holds_all_connections_keeps_nobody_out(ports: ApiPorts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", LONG)
    async with bounded(create_app(ports), most=10) as place:
        held = [await place.call(b"GET / HT" if number % 2 else b"") for number in range(50)]
        for _ in range(5):
            await place.healthy()
        assert place.bounds.open <= 10
        assert await held[0].rest() == b""
        assert place.closed()["no_room"] >= 40
        now = asyncio.get_running_loop().time()
        assert "more than 10 connections" in (place.bounds.crowded(now) or "")
        assert place.bounds.crowded(now + connections.REMIND_SECONDS + 1) is None


async def test_bodies_that_do_not_come_keep_nobody_out(ports: ApiPorts) -> None:
    async with bounded(create_app(ports), most=10) as place:
        for _ in range(50):
            await place.call(POST.format(JOBS, "localhost", CHUNKED).encode())
        await place.healthy()


async def test_a_client_with_a_key_outlasts_those_without(
    ports: ApiPorts, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, _ = await stored_key(store, "ann")
    keyed = f"GET {JOBS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {{}}\r\n\r\n"
    monkeypatch.setattr(connections, "HEAD_SECONDS", LONG)
    async with bounded(create_app(ports), most=10) as place:
        known, wrong = await place.call(keyed.format(text).encode()), await place.call(keyed.format("wrong").encode())
        assert (await known.answer()).startswith(b"HTTP/1.1 200 ")
        assert (await wrong.answer()).startswith(b"HTTP/1.1 401 ")
        for _ in range(50):
            await place.call()
        assert await wrong.rest() == b""
        await known.send(keyed.format(text).encode())
        assert (await known.answer()).startswith(b"HTTP/1.1 200 ")


async def test_a_client_with_a_key_may_take_its_time_with_a_body(
    ports: ApiPorts, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, _ = await stored_key(store, "ann")
    monkeypatch.setattr(connections, "HEAD_SECONDS", LONG)
    job = b'{"handler":"demo","allow_unknown_handler":true}'
    async with bounded(create_app(ports), most=10) as place:
        headers = f"Authorization: Bearer {text}\r\nExpect: 100-continue\r\nContent-Length: {len(job)}"
        known = await place.call(POST.format(JOBS, "localhost", headers).encode())
        assert b" 100 " in await known.head()
        await known.send(job[:5])
        for _ in range(50):
            await place.call()
        await place.healthy()
        await known.send(job[5:])
        assert (await known.answer()).startswith(b"HTTP/1.1 201 ")


async def test_one_address_has_no_more_than_its_share(ports: ApiPorts) -> None:
    async with bounded(create_app(ports), most_per_address=3) as place:
        held = [await place.call() for _ in range(10)]
        await place.healthy()
        assert place.bounds.open <= 3
        assert await held[0].rest() == b""
        assert place.closed()["address"] >= 7


async def test_clients_that_come_at_once_wait_for_room(ports: ApiPorts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "NEW_SECONDS", LONG)
    async with bounded(create_app(ports), most=5) as place:
        callers = [await place.call() for _ in range(100)]
        for each in callers:
            await each.send(HELLO)
        for each in callers:
            assert (await each.answer()).endswith(b"OK")
            each.writer.close()


async def test_nobody_goes_while_there_is_room(ports: ApiPorts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "NEW_SECONDS", 0.0)
    async with bounded(create_app(ports), most=100) as place:
        callers = await asyncio.gather(*(place.call() for _ in range(100)))
        await callers[-1].send(HELLO)
        assert (await callers[-1].answer()).endswith(b"OK")
        assert place.closed() == {}


async def test_many_that_come_at_once_are_let_in_one_after_the_other(
    ports: ApiPorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", LONG)
    monkeypatch.setattr(connections, "NEW_SECONDS", 0.0)
    monkeypatch.setattr(accepting, "PAUSE", LONG)
    async with bounded(create_app(ports), most=5) as place:
        callers = [await place.call() for _ in range(105)]
        for each in callers[:100]:
            assert await each.rest() == b""
        assert all(each.open for each in callers[100:])
        assert place.closed() == {"no_room": 100}


@pytest.mark.parametrize(
    ("host", "path", "status"), [("localhost", JOBS, 413), ("attacker.example", JOBS, 403), ("localhost", BATCH, 413)]
)
async def test_a_body_without_end_is_not_read_after_the_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch, host: str, path: str, status: int
) -> None:
    monkeypatch.setattr("mainspring.api.submitting.MAX_BATCH_BODY", body.MAX_BODY)
    monkeypatch.setattr(connections, "LINGER_SECONDS", SOON)
    caller = await place.call(POST.format(path, host, CHUNKED).encode())
    answered = asyncio.create_task(caller.rest())
    async with asyncio.timeout(PATIENCE):
        while not answered.done():
            caller.writer.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            await asyncio.sleep(0)
    head = (await answered).partition(b"\r\n\r\n")[0]
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"connection: close" in head
    assert place.closed() == {"unwanted_body": 1}


@pytest.mark.parametrize("nonsense", [b"nonsense \x00\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + 70_000 * b"y"])
async def test_requests_before_nonsense_get_their_own_answers(place: Place, nonsense: bytes) -> None:
    job = b'{"handler":"demo","allow_unknown_handler":true}'
    length = f"Content-Length: {len(job)}"
    caller = await place.call(POST.format(JOBS, "localhost", length).encode() + job + HELLO + nonsense)
    answers = await caller.rest()
    first, second = answers.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"201 ")
    assert second.startswith(b"200 ")


async def test_nonsense_is_no_event(place: Place) -> None:
    caller = await place.call(EVENTS % 1 + b"nonsense \x00\r\n\r\n")
    assert b"chunked" in await caller.head()
    async with asyncio.timeout(PATIENCE):
        assert (await caller.reader.readline()).strip().isalnum()
        assert await caller.reader.readline() == b"retry: 2000\n"


async def test_a_body_that_is_not_http_is_refused(place: Place) -> None:
    caller = await place.call(POST.format(JOBS, "localhost", CHUNKED).encode() + b"nonsense\r\n")
    assert (await caller.rest()).startswith(b"HTTP/1.1 400 ")


async def test_a_little_body_that_nobody_wants_costs_no_connection(place: Place) -> None:
    caller = await place.call(POST.format(JOBS, "attacker.example", "Content-Length: 1000").encode())
    assert (await caller.answer()).startswith(b"HTTP/1.1 403 ")
    await caller.send(b"x" * 1000 + HELLO)
    assert (await caller.answer()).endswith(b"OK")


async def test_a_body_in_pieces_costs_no_connection(place: Place) -> None:
    long = b'{"handler":"test.echo","payload":"' + b"x" * 100_000 + b'"}'
    for _ in range(2):
        caller = await place.call(POST.format(JOBS, "localhost", f"Content-Length: {len(long)}").encode())
        for start in range(0, len(long), 30_000):
            await caller.send(long[start : start + 30_000])
            await asyncio.sleep(0.01)
        answer = await caller.answer()
        assert answer.startswith(b"HTTP/1.1 201 ")
        assert b"connection: close" not in answer
        await caller.send(HELLO)
        assert (await caller.answer()).endswith(b"OK")


async def test_a_body_that_trickles_is_given_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "PATIENCE", SOON)
    caller = await place.call(POST.format(JOBS, "localhost", CHUNKED).encode())
    answered = asyncio.create_task(caller.rest())
    async with asyncio.timeout(PATIENCE):
        while not answered.done():
            caller.writer.write(b"1\r\nx\r\n")
            await asyncio.sleep(SOON / 10)
    assert (await answered).startswith(b"HTTP/1.1 408 ")


async def test_a_client_that_takes_nothing_of_its_answer_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNREAD_SECONDS", SOON)
    monkeypatch.setattr(connections, "WATCH_SECONDS", SOON)
    app = FastAPI()

    @app.get("/long")
    async def long() -> Response:
        return Response(b"x" * 100_000_000)

    async with bounded(app) as place:
        caller = await place.call(b"GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await caller.head()
        caller.writer.transport.pause_reading()  # type: ignore[attr-defined]  # that of a stream can
        await place.empty()
        assert place.closed() == {"unread_answer": 1}


def test_a_client_may_leave_in_the_middle_of_a_pipeline(caplog: pytest.LogCaptureFixture) -> None:
    """On the loop that processes run on: others say nothing when a closed connection is read on."""
    app = FastAPI()

    @app.post("/slow")
    async def slow(request: Request) -> str:
        if not begun.is_set():
            begun.set()
            await left.wait()
        else:
            # The first answer found nobody there, and the connection was lost.
            await places[0].empty()
            with suppress(ClientDisconnect):
                await request.body()
            answered.set()
        return "x" * 1_000_000

    async def leave() -> None:
        async with bounded(app) as place:
            places.append(place)
            sent = POST.format("/slow", "localhost", "Content-Length: 2").encode() + b"{}"
            caller = await place.call(sent * 5)
            await begun.wait()
            caller.writer.transport.abort()
            left.set()
            async with asyncio.timeout(PATIENCE):
                await answered.wait()

    places: list[Place] = []
    begun, left, answered = asyncio.Event(), asyncio.Event(), asyncio.Event()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(leave())
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_an_event_stream_is_plain_to_a_client_that_knows_no_chunks(place: Place) -> None:
    plain, chunked = await place.call(EVENTS % 0), await place.call(EVENTS % 1)
    head = (await plain.head()).lower()
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    async with asyncio.timeout(PATIENCE):
        assert (await plain.reader.readline()).startswith(b"retry:")
    assert b"transfer-encoding: chunked" in (await chunked.head()).lower()


async def test_an_answer_to_such_a_client_still_tells_its_length(place: Place) -> None:
    answer = await (await place.call(HELLO.replace(b"1.1", b"1.0"))).rest()
    assert b"content-length: 2\r\n" in answer
    assert answer.endswith(b"\r\n\r\nOK")


async def test_streams_have_a_bound_of_their_own(ports: ApiPorts) -> None:
    async with bounded(create_app(ports, most_streams=3)) as place:
        streams = [await place.call(EVENTS % 1) for _ in range(3)]
        assert [(await each.head())[:12] for each in streams] == [b"HTTP/1.1 200"] * 3
        refused = await (await place.call(EVENTS % 1)).answer()
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"too_many_streams" in refused
        await place.healthy()


async def test_the_streams_of_one_owner_leave_room_for_others(ports: ApiPorts, store: SqliteStore) -> None:
    keys = [(await stored_key(store, owner))[0] for owner in ("ann", "bob")]
    ann, bob = (EVENTS[:-2] % 1 + f"Authorization: Bearer {key}\r\n\r\n".encode() for key in keys)
    async with bounded(create_app(ports, most_streams=4)) as place:
        calls = [ann, ann, ann, bob]
        heads = [await (await place.call(sent)).head() for sent in calls]
        assert [head[9:12] for head in heads] == [b"200", b"200", b"503", b"200"]


async def test_a_client_that_owes_the_rest_of_a_body_delays_a_stop_and_is_no_fault(
    ports: ApiPorts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "GRACE", SOON)
    async with bounded(create_app(ports)) as place:
        caller = await place.call(HELLO + POST.format(JOBS, "localhost", "Content-Length: 9").encode() + b"{")
        assert (await caller.answer()).endswith(b"OK")
        place.stop.set()
        assert await caller.rest() == b""
    assert [each.message for each in caplog.records if each.levelno >= logging.ERROR] == []


async def test_collectors_see_connections(ports: ApiPorts) -> None:
    measured = replace(ports, measurements=Measurements())
    async with bounded(create_app(measured), most=77) as place:
        measured.measurements.sources.append(place.bounds.families)
        caller = await place.call(b"GET /metrics HTTP/1.0\r\n\r\n")
        shown = read((await caller.rest()).decode().partition("\r\n\r\n")[2], openmetrics=False)
    assert shown["mainspring_connections"].value("mainspring_connections") == 1
    assert shown["mainspring_connections_limit"].value("mainspring_connections_limit") == 77
    name = "mainspring_connections_closed_total"
    assert {dict(labels)["reason"] for _, labels in shown[name].samples} == set(connections.Reason)


STARVED = """
import asyncio, os, resource, sys
from fastapi import FastAPI
from mainspring.api.connections import Connections
from mainspring.api.server import Server, bind
from mainspring.wiring.loops import run_loop
app = FastAPI()

@app.get("/healthz")
async def healthz() -> str:
    return "OK"

async def main() -> None:
    sockets = bind("127.0.0.1", [0])
    stop = asyncio.Event()
    serving = asyncio.create_task(Server(app, sockets, Connections(1000)).run(stop))
    await asyncio.sleep(0.1)
    used = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 10, used + 10))
    print(sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    stop.set()
    await serving

run_loop(main()) if sys.argv[1] == "fast" else asyncio.run(main())
"""


@pytest.fixture(params=["fast", "plain"])
def starved(request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[str]"]:
    """A server that has ten descriptors left, on either event loop; it prints its port."""
    process = subprocess.Popen(
        [sys.executable, "-c", STARVED, request.param],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


async def test_a_server_without_descriptors_makes_room_and_says_so_once(starved: "subprocess.Popen[str]") -> None:
    assert starved.stdout is not None
    port = int(await asyncio.to_thread(starved.stdout.readline))
    place = Place(port, Connections(1))
    for _ in range(30):
        await place.call()
    for _ in range(5):
        await place.healthy()
    await place.leave()
    _, said = await asyncio.to_thread(starved.communicate, "")
    assert said.count("connections.full") <= 1
    assert len(said.splitlines()) < 10, said
