"""The Tracing port by OpenTelemetry."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, SpanKind, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mainspring.ports.tracing import Attributes, Kind, Span
from mainspring.version import __version__

_KINDS = {kind: SpanKind[kind.name] for kind in Kind}
_NOTHING: Attributes = {}
_NOWHERE = Context()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PROPAGATOR = TraceContextTextMapPropagator()


class OpenTelemetryTracing:
    """Spans of one provider; whoever uses OpenTelemetry inside of them, with whatever provider, continues them."""

    enabled = True

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("mainspring", __version__)

    def current(self) -> str | None:
        """As `Tracing.current`."""
        return _traceparent(trace.get_current_span().get_span_context())

    @contextmanager
    def span(
        self,
        name: str,
        kind: Kind = Kind.INTERNAL,
        *,
        parent: str | None = None,
        attributes: Attributes = _NOTHING,
    ) -> Iterator[Span]:
        """As `Tracing.span`."""
        span = self._tracer.start_span(name, _within(parent), _KINDS[kind], attributes)
        token = contexts.attach(trace.set_span_in_context(span, _NOWHERE))
        try:
            yield OpenTelemetrySpan(span)
        finally:
            contexts.detach(token)
            span.end()

    def record(
        self,
        name: str,
        kind: Kind = Kind.INTERNAL,
        *,
        parent: str | None = None,
        began: datetime,
        ended: datetime,
        attributes: Attributes = _NOTHING,
    ) -> str | None:
        """As `Tracing.record`."""
        start, end = _nanoseconds(began), _nanoseconds(ended)
        span = self._tracer.start_span(name, _within(parent), _KINDS[kind], attributes, start_time=start)
        # Clocks of two machines may disagree; a span that ends before it began is refused everywhere.
        span.end(max(start, end))
        return _traceparent(span.get_span_context())


class OpenTelemetrySpan:
    """The Span port by OpenTelemetry."""

    __slots__ = ("_span",)

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    @property
    def traceparent(self) -> str | None:
        """As `Span.traceparent`."""
        return _traceparent(self._span.get_span_context())

    def name(self, name: str) -> None:
        """As `Span.name`."""
        self._span.update_name(name)

    def tell(self, attributes: Attributes) -> None:
        """As `Span.tell`."""
        self._span.set_attributes(attributes)

    def fail(self, error: str) -> None:
        """As `Span.fail`."""
        self._span.set_status(StatusCode.ERROR, error)


def _within(parent: str | None) -> Context:
    """The context of a remote parent; of none if there is none or it can't be understood."""
    return _NOWHERE if parent is None else _PROPAGATOR.extract({"traceparent": parent}, _NOWHERE)


def _traceparent(span: SpanContext) -> str | None:
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


def _nanoseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND * 1000
