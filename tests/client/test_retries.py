import json
from collections.abc import Callable
from datetime import timedelta

import httpx
import pytest

from mainspring import sync
from mainspring.client import Client, new_job
from mainspring.client.asgi import Application, AsgiTransport
from mainspring.client.errors import (
    ApiError,
    Conflict,
    Invalid,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
)
from mainspring.client.retrying import Retrying
from tests.client.conftest import QUICK, URL

Answer = Callable[[httpx.Request], httpx.Response]


class LosesAnswers(httpx.AsyncBaseTransport):
    """Every request arrives; the answers to the first few of each path get lost on their way."""

    def __init__(self, inner: httpx.AsyncBaseTransport, lost: int = 2) -> None:
        self.inner = inner
        self.lost = lost
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = await self.inner.handle_async_request(request)
        if self.lost > 0:
            self.lost -= 1
            await answer.aread()
            raise httpx.ReadError("connection reset by peer")
        return answer


async def test_a_lost_answer_never_makes_a_second_job(application: Application) -> None:
    transport = LosesAnswers(AsgiTransport(application))
    async with Client(URL, transport=transport, retrying=QUICK) as client:
        job = await client.submit("test.echo", {"n": 1})
        assert [each.id async for each in client.jobs()] == [job.id]
    keys = {request.headers["Idempotency-Key"] for request in transport.requests[:3]}
    assert len(keys) == 1


async def test_a_lost_answer_never_makes_a_second_run(application: Application) -> None:
    async with Client(URL, transport=AsgiTransport(application)) as client:
        job = await client.submit("test.echo", schedule="on-demand")
    async with Client(URL, transport=LosesAnswers(AsgiTransport(application)), retrying=QUICK) as client:
        run = await client.trigger(job)
        assert [each.id async for each in client.executions(job=job)] == [run.id]


async def test_two_submissions_are_two_jobs(client: Client) -> None:
    first, second = await client.submit("test.echo", 1), await client.submit("test.echo", 1)
    assert first.id != second.id


async def test_a_repeated_key_is_the_same_job(client: Client) -> None:
    first = await client.submit("test.echo", 1, key="order-7")
    assert await client.submit("test.echo", 1, key="order-7") == first
    with pytest.raises(Conflict) as caught:
        await client.submit("test.echo", 2, key="order-7")
    assert caught.value.code == "idempotency_conflict"


def answering(*answers: httpx.Response | Exception, seen: list[httpx.Request] | None = None) -> httpx.MockTransport:
    """A server that gives these answers in turn, the last for ever."""
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        given = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(given, Exception):
            raise given
        return httpx.Response(given.status_code, headers=given.headers, content=given.content)

    return httpx.MockTransport(answer)


def problem(status: int, **members: object) -> httpx.Response:
    return httpx.Response(status, json={"status": status, "title": "No", "detail": "because", "error": "no", **members})


@pytest.mark.parametrize("trouble", [problem(502), problem(503), problem(504), httpx.ConnectTimeout("slow")])
async def test_what_may_pass_is_tried_again(trouble: httpx.Response | Exception) -> None:
    transport = answering(trouble, trouble, httpx.Response(200, json={"ok": True}))
    async with Client(URL, transport=transport, retrying=QUICK) as client:
        assert await client.metrics() == {"ok": True}


async def test_a_server_that_asks_for_patience_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[timedelta] = []

    async def note(pause: timedelta) -> None:
        pauses.append(pause)

    monkeypatch.setattr("mainspring.client.asynchronous.connection.async_sleep", note)
    busy = httpx.Response(429, headers={"Retry-After": "7"}, json={"error": "rate"})
    async with Client(URL, transport=answering(busy, httpx.Response(200, json={}))) as client:
        await client.metrics()
    assert pauses == [timedelta(seconds=7)]
    too_long = httpx.Response(429, headers={"Retry-After": "3600"}, json={"error": "rate"})
    async with Client(URL, transport=answering(too_long)) as client:
        with pytest.raises(TooManyRequests) as caught:
            await client.metrics()
    assert caught.value.retry_after == timedelta(hours=1)
    assert len(pauses) == 1


async def test_patience_has_an_end() -> None:
    seen: list[httpx.Request] = []
    transport = answering(httpx.ConnectError("refused"), seen=seen)
    async with Client(URL, transport=transport, retrying=QUICK) as client:
        with pytest.raises(Unreachable, match=r"no answer from .*refused \(tried 6 times\)"):
            await client.submit("test.echo")
    assert len(seen) == QUICK.tries


def test_pauses_grow_to_their_bound_and_are_never_alike() -> None:
    retrying = Retrying(tries=50)
    pauses = [retrying.pause(tries) for tries in range(1, 50)]
    assert all(pause is not None and pause <= timedelta(seconds=5) for pause in pauses)
    assert len(set(pauses)) == len(pauses)
    assert retrying.pause(50) is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (401, Unauthorized),
        (403, Unauthorized),
        (404, NotFound),
        (409, Conflict),
        (412, Conflict),
        (413, Invalid),
        (418, ApiError),
        (422, Invalid),
        (500, Unavailable),
    ],
)
async def test_each_refusal_has_its_error_and_is_not_repeated(status: int, kind: type[ApiError]) -> None:
    seen: list[httpx.Request] = []
    transport = answering(problem(status, errors=[{"field": "priority", "detail": "too large"}]), seen=seen)
    async with Client(URL, transport=transport, retrying=QUICK) as client:
        with pytest.raises(kind, match="because") as caught:
            await client.submit("test.echo")
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.code, caught.value.field) == (status, "no", "priority")
    assert len(seen) == 1


async def test_a_proxy_that_knows_nothing_of_problems_is_understood() -> None:
    transport = answering(httpx.Response(404, content=b"<html>nginx</html>"))
    async with Client(URL, transport=transport) as client:
        with pytest.raises(NotFound, match="the server answered 404"):
            await client.metrics()


@pytest.mark.parametrize("content", [b"<html>hello</html>", b'{"id": 1}', b"[]"])
async def test_an_answer_outside_the_contract_is_named(content: bytes) -> None:
    async with Client(URL, transport=answering(httpx.Response(200, content=content))) as client:
        with pytest.raises(UnexpectedAnswer):
            await client.submit("test.echo")


async def test_a_deletion_whose_answer_was_lost_has_happened() -> None:
    transport = answering(httpx.ReadError("reset"), problem(404))
    job_id = "01890a5d-ac96-774b-bcce-b302099a8057"
    async with Client(URL, transport=transport, retrying=QUICK) as client:
        await client.delete(job_id)
        with pytest.raises(NotFound):
            await client.delete(job_id)


async def test_a_batch_gives_every_job_a_key_that_survives_repetition() -> None:
    seen: list[httpx.Request] = []
    transport = answering(httpx.ReadError("reset"), httpx.Response(201, json={"items": []}), seen=seen)
    async with Client(URL, transport=transport, retrying=QUICK) as client:
        await client.batch([new_job("a"), new_job("b", key="mine")])
        assert await client.batch([]) == []
    first, second = (json.loads(request.content)["jobs"] for request in seen)
    assert first == second
    assert [job["key"] for job in first][1] == "mine"
    assert first[0]["key"]


async def test_credentials_and_owner_travel_with_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[httpx.Request] = []
    monkeypatch.setenv("MAINSPRING_URL", "http://example.test:1234/")
    transport = answering(httpx.Response(200, json={}), seen=seen)
    async with Client(key="ms_live_x", owner="ada", transport=transport) as client:
        await client.metrics()
    assert str(seen[0].url) == "http://example.test:1234/api/v1/metrics"
    assert seen[0].headers["Authorization"] == "Bearer ms_live_x"
    assert seen[0].headers["X-User-ID"] == "ada"


def test_the_blocking_client_has_the_same_patience() -> None:
    transport = answering(httpx.ReadError("reset"), problem(503), httpx.Response(200, json={"ok": True}))
    with sync.Client(URL, transport=transport, retrying=QUICK) as client:
        assert client.metrics() == {"ok": True}
