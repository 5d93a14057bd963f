"""Requests as spans: children of the caller's own, if the request says which."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mainspring.api.counting import route_of
from mainspring.ports.tracing import Kind, Span, Tracing

_TRACEPARENT = b"traceparent"
_PROBES = frozenset({"/metrics", "/healthz", "/readyz"})
_FIRST_FAILURE = 500


class Traced:
    """A span around each request but probes, which come without end and tell nothing."""

    def __init__(self, app: ASGIApp, *, tracing: Tracing) -> None:
        self._app = app
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer."""
        if scope["type"] != "http" or scope["path"] in _PROBES:
            await self._app(scope, receive, send)
            return
        attributes = {"http.request.method": scope["method"], "url.path": scope["path"]}
        with self._tracing.span(scope["method"], Kind.SERVER, parent=_parent(scope), attributes=attributes) as span:

            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _note(span, scope, message["status"])
                await send(message)

            await self._app(scope, receive, noted)


def _note(span: Span, scope: Scope, status: int) -> None:
    route = route_of(scope)
    span.name(f"{scope['method']} {route}")
    span.tell({"http.route": route, "http.response.status_code": status})
    if status >= _FIRST_FAILURE:
        span.fail(str(status))


def _parent(scope: Scope) -> str | None:
    found = [value for name, value in scope["headers"] if name == _TRACEPARENT]
    return found[0].decode("latin-1") if len(found) == 1 else None
