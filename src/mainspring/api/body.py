"""Reading a request's body up to a limit, and answering with JSON texts."""

from typing import Any

from fastapi import Request, Response
from starlette.exceptions import HTTPException

from mainspring.api.document import write_json

MAX_BODY = 1024 * 1024


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """The whole body; 413 as soon as it is longer than *limit*."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise HTTPException(413, f"the body is longer than {limit} bytes")
    return bytes(body)


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer in which `Raw` texts stand as they are."""
    return Response(write_json(content), status, headers, media_type="application/json")
