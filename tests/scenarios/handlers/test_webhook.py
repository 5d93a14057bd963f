import asyncio
import base64
import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from aiohttp import web

from mainspring.testing.clock import START
from mainspring.testing.factories import a_task
from mainspring.worker.flow import Fail, RetryAfter
from mainspring.worker.handlers.webhook import KEPT_OF_ANSWER, READ_OF_ANSWER
from tests.scenarios.handlers.receiver import answering, calling, receiving
from tests.tracing import OTHER, PARENT, KeptTracing, parent_of, place_of
from tests.unit.handlers.contexts import JOB, RUN, a_context

KEY = bytes(range(32))


async def test_a_receiver_gets_the_call_and_its_answer_is_the_result() -> None:
    async with receiving() as receiver, calling() as webhook:
        rest = '"method": "PUT", "headers": {"X-A": "ü"}, "body": {"n": 1e400, "m": 1.0}'
        context = a_context(payload=f'{{"url": "{receiver.url}?a=b", {rest}}}'.encode())
        result = await webhook(context.payload, context)
    request = receiver.requests[0]
    assert result == {"status": 200, "body": "thanks", "truncated": False}
    assert (request.method, request.path_qs, receiver.bodies) == ("PUT", "/hook?a=b", [b'{"n": 1e400, "m": 1.0}'])
    assert request.headers["X-A"] == "ü"
    assert request.headers["Host"] == f"127.0.0.1:{receiver.port}"
    assert request.headers["X-Mainspring-Run"] == str(RUN)
    assert request.headers["X-Mainspring-Job"] == str(JOB)
    assert request.headers["X-Mainspring-Fence"] == "7"
    assert request.headers["User-Agent"].startswith("Mainspring/")
    assert request.headers.getall("Content-Type") == ["application/json"]


async def test_a_call_without_a_body_says_so() -> None:
    async with receiving() as receiver, calling() as webhook:
        await webhook({"url": receiver.url, "body": None}, a_context())
        await webhook({"url": receiver.url, "method": "GET"}, a_context())
    assert receiver.bodies == [b"", b""]
    assert all("Content-Type" not in request.headers for request in receiver.requests)


async def test_a_receiver_can_verify_the_signature() -> None:
    async with receiving() as receiver, calling(key=KEY) as webhook:
        context = a_context(payload=json.dumps({"url": receiver.url, "body": {"text": "ü"}}).encode())
        await webhook(context.payload, context)
        await webhook({"url": receiver.url, "method": "GET"}, a_context(attempt=3))
    for request, body in zip(receiver.requests, receiver.bodies, strict=True):
        identity, timestamp = request.headers["Webhook-Id"], request.headers["Webhook-Timestamp"]
        version, signature = request.headers["Webhook-Signature"].split(",")
        expected = hmac.new(KEY, f"{identity}.{timestamp}.".encode() + body, hashlib.sha256).digest()
        assert (version, base64.b64decode(signature)) == ("v1", expected)
        assert int(timestamp) == START.timestamp()
        assert identity == request.headers["Idempotency-Key"] == str(RUN)


async def test_a_call_is_a_span_of_its_own_which_the_receiver_is_told() -> None:
    tracing = KeptTracing()
    async with receiving() as receiver, calling(tracing=tracing) as webhook:
        await webhook({"url": receiver.url}, a_context(task=a_task(trace=PARENT)))
        await webhook({"url": receiver.url, "headers": {"Traceparent": OTHER}}, a_context(task=a_task(trace=PARENT)))
    first, second = tracing.spans
    assert (parent_of(first), parent_of(second)) == (PARENT, PARENT)
    assert [request.headers["traceparent"] for request in receiver.requests] == [place_of(first), OTHER]


async def test_a_call_that_fails_is_a_span_that_did() -> None:
    tracing = KeptTracing()
    async with receiving(answering(404)) as receiver, calling(tracing=tracing) as webhook:
        with pytest.raises(Fail):
            await webhook({"url": receiver.url}, a_context())
    async with calling(tracing=tracing) as webhook:
        with pytest.raises(Fail):
            await webhook({"url": receiver.url}, a_context())
    answered, refused = tracing.spans
    assert (answered.attributes or {})["http.response.status_code"] == 404
    assert "http.response.status_code" not in (refused.attributes or {})
    assert not answered.status.is_ok
    assert not refused.status.is_ok


async def test_without_a_secret_nothing_is_signed() -> None:
    async with receiving() as receiver, calling() as webhook:
        await webhook({"url": receiver.url}, a_context())
    assert "Webhook-Signature" not in receiver.requests[0].headers
    assert json.loads(receiver.bodies[0])["execution_id"] == str(RUN)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    async with receiving() as inner:
        async with receiving(answering(status, headers={"Location": inner.url})) as receiver, calling() as webhook:
            with pytest.raises(Fail, match="redirects are not followed"):
                await webhook({"url": receiver.url}, a_context())
        assert len(receiver.requests) == 1
        assert inner.requests == []


async def test_a_busy_receiver_is_called_again_when_it_says() -> None:
    async with receiving(answering(503, headers={"Retry-After": "90"})) as receiver, calling() as webhook:
        with pytest.raises(RetryAfter, match=r"127\.0\.0\.1 answered 503") as asked:
            await webhook({"url": receiver.url}, a_context())
    assert asked.value.delay == timedelta(seconds=90)


async def test_a_receiver_that_does_not_know_the_call_fails_the_attempt() -> None:
    async with receiving(answering(404, text="no such hook")) as receiver, calling() as webhook:
        with pytest.raises(Fail, match="answered 404 Not Found: no such hook"):
            await webhook({"url": receiver.url}, a_context())


async def test_a_long_answer_is_kept_in_part() -> None:
    text = "a" * KEPT_OF_ANSWER + "b"
    async with receiving(answering(200, text=text)) as receiver, calling() as webhook:
        result = await webhook({"url": receiver.url}, a_context())
    assert result == {"status": 200, "body": "a" * KEPT_OF_ANSWER, "truncated": True}


async def test_a_binary_answer_becomes_text() -> None:
    async with receiving(answering(200, body=b"\xff\x00ok")) as receiver, calling() as webhook:
        result = await webhook({"url": receiver.url}, a_context())
    assert result["body"] == "\ufffd\x00ok"


async def test_an_endless_answer_is_cut_off() -> None:
    gone = asyncio.Event()
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 65536)
                sent += 65536
        except ConnectionError:
            gone.set()
            raise

    async with receiving(endless) as receiver, calling() as webhook:
        result = await webhook({"url": receiver.url}, a_context())
        await gone.wait()
    assert result["truncated"] is True
    assert len(result["body"]) == KEPT_OF_ANSWER
    # What lies in the buffers of two sockets comes on top.
    assert READ_OF_ANSWER < sent < 64 * READ_OF_ANSWER


@pytest.mark.parametrize("beginning", [b"", b"HTTP/1.1 200 OK\r\n\r\nthe first of many"])
async def test_an_answer_that_is_not_complete_within_the_timeout_is_a_failure(beginning: bytes) -> None:
    gone = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        await reader.read()
        writer.close()
        gone.set()

    async with await asyncio.start_server(hold, "127.0.0.1", 0) as server, calling() as webhook:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Fail, match=r"no complete answer from 127\.0\.0\.1 within 0\.1 s"):
            await webhook({"url": f"http://127.0.0.1:{port}/", "timeout": 100}, a_context())
        await gone.wait()


async def test_a_packed_answer_is_never_unpacked() -> None:
    packed = answering(200, body=b"not really packed", headers={"Content-Encoding": "gzip"})
    async with receiving(packed) as receiver, calling() as webhook:
        result = await webhook({"url": receiver.url}, a_context())
    assert result["body"] == "not really packed"
    assert receiver.requests[0].headers["Accept-Encoding"] == "identity"


async def test_cookies_of_one_run_are_not_sent_by_the_next() -> None:
    async with (
        receiving(answering(200, headers={"Set-Cookie": "session=of-somebody"})) as receiver,
        calling() as webhook,
    ):
        await webhook({"url": receiver.url}, a_context())
        await webhook({"url": receiver.url}, a_context())
    assert "Cookie" not in receiver.requests[1].headers


async def test_nobody_listening_is_a_failure() -> None:
    async with receiving() as receiver:
        pass
    async with calling() as webhook:
        with pytest.raises(Fail, match=r"the call to 127\.0\.0\.1 failed"):
            await webhook({"url": receiver.url}, a_context())


async def test_a_connection_that_breaks_is_a_failure() -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.close()

    async with await asyncio.start_server(break_off, "127.0.0.1", 0) as server, calling() as webhook:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Fail, match=r"the call to 127\.0\.0\.1 failed"):
            await webhook({"url": f"http://127.0.0.1:{port}/"}, a_context())


async def test_a_run_that_is_asked_to_stop_drops_its_call() -> None:
    called, gone = asyncio.Event(), asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        called.set()
        await reader.read()
        writer.close()
        gone.set()

    context = a_context()
    async with await asyncio.start_server(hold, "127.0.0.1", 0) as server, calling() as webhook:
        port = server.sockets[0].getsockname()[1]
        task = asyncio.create_task(webhook({"url": f"http://127.0.0.1:{port}/"}, context))
        await called.wait()
        context.cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone.wait()


async def test_a_closed_handler_opens_again() -> None:
    async with receiving() as receiver, calling() as webhook:
        await webhook({"url": receiver.url}, a_context())
        await webhook.close()
        assert (await webhook({"url": receiver.url}, a_context()))["status"] == 200
