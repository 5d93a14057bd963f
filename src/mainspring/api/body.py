"""Reading a request's body up to a limit, and answering with JSON texts."""

import asyncio
from typing import Any

from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from mainspring.api.document import read_object, write_json

MAX_BODY = 1024 * 1024
PATIENCE = 30.0
"""Seconds that a body may take to arrive, and as many more as its bytes would take at the slowest rate."""
SLOWEST = 16_384
"""Bytes a second."""


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """The whole body; 413 as soon as it is longer than *limit*, 408 if it doesn't come."""
    return await receive_body(request.scope, request.receive, limit)


async def receive_body(scope: Scope, receive: Receive, limit: int = MAX_BODY) -> bytes:
    """The same for an application without a request."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > limit:
            raise _too_long(limit)
    began = asyncio.get_running_loop().time()
    message = await _next(receive, began)
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        body = await _rest(receive, bytearray(body), limit, began)
    if len(body) > limit:
        raise _too_long(limit)
    return body


async def read_fields(request: Request) -> dict[str, Any]:
    """The members of the object that the body is; none if there is no body."""
    body = await read_body(request)
    return read_object(body).fields if body else {}


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer in which `Raw` texts stand as they are."""
    return Response(write_json(content), status, headers, media_type="application/json")


async def _rest(receive: Receive, body: bytearray, limit: int, began: float) -> bytes:
    while len(body) <= limit:
        message = await _next(receive, began + len(body) / SLOWEST)
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


async def _next(receive: Receive, since: float) -> Any:
    try:
        async with asyncio.timeout_at(since + PATIENCE):
            message = await receive()
    except TimeoutError:
        raise HTTPException(408, "the body didn't arrive in time") from None
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message


def _too_long(limit: int) -> HTTPException:
    return HTTPException(413, f"the body is longer than {limit} bytes")
