"""What a process answers whose store isn't there yet: that it waits, and for what."""

from fastapi import Response
from fastapi.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from mainspring.api.body import answer
from mainspring.api.cluster_metrics import store_up
from mainspring.api.credentials import path_of
from mainspring.api.exposition import TEXT
from mainspring.api.problems import problem_of
from mainspring.errors import StoreUnavailable

_AWAY = 503


class AwaitingStore:
    """Answers probes and collectors in their own words, and everybody else that they may try again.

    Nobody needs a key: nothing is known here that could be kept from them.
    """

    def __init__(self, reason: StoreUnavailable) -> None:
        self.reason = reason

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer any request."""
        await self._answer(path_of(scope))(scope, receive, send)

    def _answer(self, path: str) -> Response:
        match path:
            case "/healthz":
                return PlainTextResponse(str(self.reason), _AWAY)
            case "/readyz":
                return PlainTextResponse(f"NOT READY: {self.reason}", _AWAY)
            case "/metrics":
                return Response(TEXT.write([store_up(False)]), media_type=TEXT.media_type)
            case "/api/v1/health":
                return answer(
                    {"status": "unhealthy", "database": {"status": "down", "detail": str(self.reason)}}, _AWAY
                )
            case _:
                return problem_of(self.reason)
