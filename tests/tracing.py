"""Spans that are kept where a test can look at them."""

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mainspring.adapters.opentelemetry.tracing import OpenTelemetryTracing

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
OTHER = "00-1bf7651916cd43dd8448eb211c80319c-c8ad6b7169203331-01"


class KeptTracing(OpenTelemetryTracing):
    """The real adapter, with its spans in memory in the order in which they ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        super().__init__(provider)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]


def place_of(span: ReadableSpan) -> str:
    """The span's traceparent."""
    context = span.get_span_context()
    assert context is not None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def parent_of(span: ReadableSpan) -> str | None:
    """The traceparent of the span's parent."""
    parent = span.parent
    return None if parent is None else f"00-{parent.trace_id:032x}-{parent.span_id:016x}-{parent.trace_flags:02x}"
