"""How many requests were answered, and how soon, by method, path and status."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mainspring.api.measurements import Measurements
from mainspring.ports.time import Clock
from mainspring.ports.tracing import Tracing, trace_id_of

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Counting:
    """Counts every answer under the path of its route: ids in labels would make a new series for each."""

    def __init__(self, app: ASGIApp, *, measurements: Measurements, clock: Clock, tracing: Tracing) -> None:
        self._app = app
        self._requests = measurements.requests
        self._seconds = measurements.request_seconds
        self._clock = clock
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = self._clock.monotonic()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in _METHODS else "other"
                path = route_of(scope)
                self._requests.add(method, path, str(message["status"]))
                trace_id = trace_id_of(self._tracing.current())
                self._seconds.observe(self._clock.monotonic() - began, method, path, trace_id=trace_id)
            await send(message)

        await self._app(scope, receive, counted)


def route_of(scope: Scope) -> str:
    """The path with the names of its parameters in place of their values; only that it is another if there is none.

    A route may stand in a router with a prefix: what the route itself says is then the end of the path.
    """
    if scope.get("endpoint") is None:
        return "other"
    path: str = scope["path"]
    names = scope.get("path_params")
    template: str | None = getattr(scope.get("route"), "path_format", None)
    if not names or template is None:
        return "other" if names else path
    end = template.format_map(names)
    return path.removesuffix(end) + template if path.endswith(end) else "other"
