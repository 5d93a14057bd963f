"""What a web page must not be able to do: use us on behalf of whoever looks at it.

A browser sends foreign pages' requests with their Origin, sends forms with a type of their own, and reaches us under
a foreign name when that name was made to resolve to our address; then the page may read our answers, too. Each is
refused before anything is read.
"""

import re
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from mainspring.api.credentials import PUBLIC, path_of
from mainspring.api.headers import header
from mainspring.api.problems import problem

_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_EMPTY = (None, "0")
_JSON = "application/json"


class Guard:
    """Lets requests pass only with our own Host; and those that change something without a foreign Origin, as JSON."""

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str] | None) -> None:
        """*hosts* are our names; None trusts every name."""
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for the application, or let it answer."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is not None:
            status, code, detail = refusal
            answer = problem(status, code, "The request was refused", detail)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        host = header(scope, b"host") or ""
        if self._hosts is not None and _name(host) not in self._hosts and path_of(scope) not in PUBLIC:
            detail = (
                f"this server doesn't answer to the name {host!r}; --allow-host (MAINSPRING_ALLOW_HOST) names others"
            )
            return 403, "foreign_host", detail
        if scope["method"] in _READING:
            return None
        origin = header(scope, b"origin")
        if origin is not None and _place(origin) != host:
            return 403, "foreign_origin", f"pages of {origin!r} may not change anything here"
        has_body = header(scope, b"content-length") not in _EMPTY or header(scope, b"transfer-encoding") is not None
        media_type = header(scope, b"content-type") or ""
        if has_body and media_type != _JSON and media_type.partition(";")[0].strip().lower() != _JSON:
            return 415, "unsupported_media_type", "send the body as application/json"
        return None


def _place(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _name(host: str) -> str:
    """The name in a Host header; empty for what is none, such as one behind a user's name."""
    found = _HOST.fullmatch(host)
    return "" if found is None else found["name"].strip("[]").lower()
