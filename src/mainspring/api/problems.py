"""Errors as RFC 9457 problem documents, each with a short code that programs can rely on."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from mainspring.api.allowing import allowed_methods
from mainspring.api.document import write_json
from mainspring.api.preconditions import PreconditionFailed
from mainspring.api.quota import QuotaExceeded
from mainspring.api.requests import NOT_PRINTABLE, InvalidFields
from mainspring.errors import (
    Conflict,
    Forbidden,
    HandlerOff,
    Invalid,
    InvalidSchedule,
    KeyConflict,
    MainspringError,
    NotFound,
    StoreError,
    StoreFull,
    UnknownHandler,
    VersionConflict,
    WrongState,
)

# The first that fits decides: from the special to the general.
_TABLE: tuple[tuple[type[MainspringError], int, str, str], ...] = (
    (InvalidSchedule, 422, "invalid_schedule", "The schedule isn't valid"),
    (UnknownHandler, 422, "unknown_handler", "The handler is unknown"),
    (HandlerOff, 422, "handler_off", "The handler is switched off"),
    (Invalid, 422, "invalid", "The request isn't valid"),
    (Forbidden, 403, "missing_scope", "The key doesn't allow that"),
    (QuotaExceeded, 429, "quota_exceeded", "The quota is used up"),
    (NotFound, 404, "not_found", "There is no such thing"),
    (PreconditionFailed, 412, "precondition_failed", "Somebody else changed it first"),
    (KeyConflict, 409, "idempotency_conflict", "The key was used for something else"),
    (VersionConflict, 409, "version_conflict", "Somebody else changed it first"),
    (WrongState, 409, "wrong_state", "Its state doesn't allow that"),
    (Conflict, 409, "conflict", "The request conflicts with what is stored"),
    (StoreFull, 503, "store_full", "The store is full"),
    (StoreError, 503, "store_unavailable", "The store is away"),
)
_PASSING = (429, 503)
"""What is over in a moment, as far as anybody knows."""
_WORDS = {
    404: ("not_found", "There is no such thing"),
    400: ("bad_request", "The request isn't understood"),
    405: ("method_not_allowed", "That method isn't allowed here"),
    408: ("timeout", "The request took too long to arrive"),
    413: ("too_large", "The request is too large"),
}


def problem(status: int, code: str, title: str, detail: str, extra: Mapping[str, Any] | None = None) -> Response:
    """A problem document."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "error": code, **(extra or {})}
    headers = {"Retry-After": "1"} if status in _PASSING else None
    return Response(write_json(body), status, headers, media_type="application/problem+json")


def problem_of(error: MainspringError) -> Response:
    """The document that stands for one of our errors."""
    for kind, status, code, title in _TABLE:
        if isinstance(error, kind):
            return problem(status, code, title, str(error), _extra(error))
    return problem(500, "internal", "Something went wrong", str(error))


def refused(error: HTTPException) -> Response:
    """The document that stands for a refusal by status."""
    code, title = _WORDS.get(error.status_code, ("http", "The request was refused"))
    refusal = problem(error.status_code, code, title, str(error.detail))
    refusal.headers.update(error.headers or {})
    return refusal


def install(app: FastAPI) -> None:
    """Let *app* answer every error by a problem document."""

    async def ours(_request: Request, error: Exception) -> Response:
        assert isinstance(error, MainspringError)  # noqa: S101 - it is registered for these only
        return problem_of(error)

    async def invalid(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - it is registered for these only
        return problem_of(InvalidFields({_where(each["loc"]): _what(each) for each in error.errors()}))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for these only
        refusal = refused(error)
        if methods := "Allow" in refusal.headers and allowed_methods(app, request.url.path):
            refusal.headers["Allow"] = ", ".join(methods)
        return refusal

    async def gone(_request: Request, _error: Exception) -> Response:
        return problem(400, "bad_request", "The request isn't understood", "the connection was closed in the middle")

    async def unexpected(_request: Request, _error: Exception) -> Response:
        return problem(500, "internal", "Something went wrong", "the server's log says what")

    app.add_exception_handler(MainspringError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Exception, unexpected)


def _where(location: Sequence[int | str]) -> str:
    """The name of a parameter or field without the part of the request that it stands in."""
    return ".".join(map(str, location[1:])) or str(location[0])


def _what(fault: Mapping[str, Any]) -> str:
    match fault["type"]:
        case "extra_forbidden":
            return "there is no such parameter"
        case "string_pattern_mismatch":
            return NOT_PRINTABLE
        case _:
            message: str = fault["msg"]
            return message[0].lower() + message[1:]


def _extra(error: MainspringError) -> dict[str, Any]:
    match error:
        case InvalidFields(faults=faults):
            return {"errors": [{"field": field, "detail": fault} for field, fault in faults.items()]}
        case InvalidSchedule(field=field, part=part, position=position):
            return {"field": field, "part": part, "position": position}
        case QuotaExceeded(live=live, quota=quota, asked=asked):
            return {"live": live, "quota": quota, "asked": asked}
        case Invalid(field=str(field)):
            return {"field": field}
        case _:
            return {}
