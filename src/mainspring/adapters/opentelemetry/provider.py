"""Where spans go: by OTLP over HTTP, as the standard `OTEL_…` variables of OpenTelemetry say."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from mainspring.adapters.opentelemetry.tracing import OpenTelemetryTracing
from mainspring.version import __version__

_UNNAMED = "unknown_service"


@asynccontextmanager
async def exporting(service: str) -> AsyncIterator[OpenTelemetryTracing]:
    """Tracing whose spans leave in batches from a thread, the last of them when the block ends.

    Handlers find the provider where OpenTelemetry looks for it, unless their own program has set another before.
    """
    provider = TracerProvider(resource=resource_of(service), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        trace.set_tracer_provider(provider)
    try:
        yield OpenTelemetryTracing(provider)
    finally:
        # It may wait for a collector that doesn't answer, for seconds.
        await asyncio.to_thread(provider.shutdown)


def resource_of(service: str) -> Resource:
    """What the environment says about this process, and what we know where it says nothing."""
    known: Mapping[str, str] = {SERVICE_VERSION: __version__}
    found = Resource.create()
    if str(found.attributes[SERVICE_NAME]).startswith(_UNNAMED):
        known = {**known, SERVICE_NAME: service}
    return found.merge(Resource(dict(known)))
