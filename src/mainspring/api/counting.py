"""How many requests were answered, by method, path and status."""

from collections import Counter
from collections.abc import Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Requests:
    """The counts of one process."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, int]] = Counter()

    def add(self, method: str, path: str, status: int) -> None:
        """Count one answer."""
        self._counts[method, path, status] += 1

    def __iter__(self) -> Iterator[tuple[tuple[str, str, int], int]]:
        return iter(sorted(self._counts.items()))


class Counting:
    """Counts every answer under the path of its route: ids in labels would make a new series for each."""

    def __init__(self, app: ASGIApp, *, requests: Requests) -> None:
        self._app = app
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._requests.add(method, _template(scope), message["status"])
            await send(message)

        await self._app(scope, receive, counted)


def _template(scope: Scope) -> str:
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
