import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider

from mainspring.client import Client
from tests.client.conftest import URL


@pytest.fixture
def requests() -> list[httpx.Request]:
    return []


@pytest.fixture
def transport(requests: list[httpx.Request]) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={"items": [], "next": None})

    return httpx.MockTransport(answer)


async def test_a_request_names_the_span_that_it_was_made_in(
    transport: httpx.MockTransport, requests: list[httpx.Request]
) -> None:
    async with Client(URL, transport=transport) as client:
        with TracerProvider(shutdown_on_exit=False).get_tracer("test").start_as_current_span("work") as span:
            [_ async for _ in client.jobs()]
        [_ async for _ in client.jobs()]
    own = span.get_span_context()
    traceparent = f"00-{own.trace_id:032x}-{own.span_id:016x}-{own.trace_flags:02x}"
    assert [each.headers.get("traceparent") for each in requests] == [traceparent, None]
