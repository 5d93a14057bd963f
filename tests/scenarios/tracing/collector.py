"""A collector on a free port: takes OTLP over HTTP as any does, and reads it by OpenTelemetry's own protocol."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from tests.scenarios.handlers.receiver import receiving
from tests.scenarios.serve.processes import PATIENCE

_MEDIA_TYPE = "application/x-protobuf"


@dataclass(frozen=True, slots=True)
class Seen:
    """A span as it arrived."""

    name: str
    service: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    failed: bool
    began: int
    ended: int
    attributes: dict[str, Any]


class Collector:
    """Every span that has arrived so far."""

    def __init__(self) -> None:
        self.spans: list[Seen] = []
        self.url = ""
        self._arrived = asyncio.Condition()

    async def receive(self, request: web.Request) -> web.StreamResponse:
        assert (request.path, request.content_type) == ("/v1/traces", _MEDIA_TYPE)
        body = await request.read()
        if body.startswith(b"\x1f\x8b"):  # what the server hasn't unpacked
            body = gzip.decompress(body)
        async with self._arrived:
            self.spans += _spans(ExportTraceServiceRequest.FromString(body))
            self._arrived.notify_all()
        return web.Response(content_type=_MEDIA_TYPE)

    async def until(self, complete: Callable[[Sequence[Seen]], bool]) -> Sequence[Seen]:
        """The spans once *complete* says that they are."""
        async with asyncio.timeout(PATIENCE), self._arrived:
            await self._arrived.wait_for(lambda: complete(self.spans))
        return list(self.spans)

    async def named(self, *names: str) -> dict[str, Seen]:
        """One span of each name, once they have all arrived."""
        spans = await self.until(lambda spans: set(names) <= {span.name for span in spans})
        return {span.name: span for span in spans if span.name in names}


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector that listens for as long as the block runs."""
    collector = Collector()
    async with receiving(collector.receive) as receiver:
        collector.url = f"http://127.0.0.1:{receiver.port}"
        yield collector


def _spans(request: ExportTraceServiceRequest) -> Iterator[Seen]:
    for each in request.resource_spans:
        service = _values(each.resource.attributes)["service.name"]
        for scope in each.scope_spans:
            for span in scope.spans:
                yield Seen(
                    span.name,
                    service,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.kind,
                    span.status.code == span.status.STATUS_CODE_ERROR,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    _values(span.attributes),
                )


def _values(attributes: Sequence[KeyValue]) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in attributes}
