"""A webhook's call as a span of its own: what the receiver does is this span's child, not the whole execution's."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus

from mainspring.ports.tracing import Attributes, Kind, Span, Tracing
from mainspring.worker.flow import Fail
from mainspring.worker.handlers.request import Request
from mainspring.worker.handlers.response import Answer

_TRACEPARENT = "traceparent"


@contextmanager
def calling(tracing: Tracing, request: Request, parent: str | None) -> Iterator[tuple[Request, Span]]:
    """The request as it is to be sent within a child of *parent*; one that names another trace keeps that name.

    Neither path nor query is told: either may be a receiver's secret.
    """
    attributes: Attributes = {
        "http.request.method": request.method,
        "server.address": request.target.host,
        "server.port": request.target.port,
    }
    with tracing.span(request.method, Kind.CLIENT, parent=parent, attributes=attributes) as span:
        try:
            yield _within(request, span, parent), span
        except Fail as failure:
            span.fail(str(failure))
            raise


def note(span: Span, answer: Answer) -> None:
    """Tell what was answered."""
    span.tell({"http.response.status_code": answer.status})
    if answer.status >= HTTPStatus.BAD_REQUEST:
        span.fail(str(answer.status))


def _within(request: Request, span: Span, parent: str | None) -> Request:
    if span.traceparent is None or request.headers.get(_TRACEPARENT) not in (None, parent):
        return request
    return replace(request, headers={**request.headers, _TRACEPARENT: span.traceparent})
