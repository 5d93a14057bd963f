"""How an endpoint is described in the OpenAPI document: what it takes, what it answers, and how it can fail."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

PROBLEM = "application/problem+json"
JSON = "application/json"

_REASONS = {
    400: "The request isn't understood",
    401: "An API key is needed",
    403: "The key, the host or the page doesn't allow that",
    404: "There is no such thing, or it isn't yours",
    408: "The body didn't arrive in time",
    409: "The state of things doesn't allow that",
    412: "The job isn't at the version that If-Match names",
    413: "The body is too large",
    415: "The body isn't application/json",
    422: "The request isn't valid; the answer names the field and says what would be right",
    429: "Too many requests, or too much of something",
    503: "The store is away",
}
_BODY = (408, 413, 415)
_ALWAYS = (401, 403, 422, 429, 503)
_ETAG = {"ETag": {"description": "The version and a check of the whole.", "schema": {"type": "string"}}}
_WAIT = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_DONE = {200: "Done", 201: "Created", 202: "Accepted", 204: "Done"}


def reference(model: type[BaseModel]) -> dict[str, str]:
    """Where the document describes *model*."""
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def operation(
    summary: str,
    shows: type[BaseModel] | None,
    status: int = 200,
    *,
    errors: Sequence[int] = (),
    body: type[BaseModel] | None = None,
    body_required: bool = True,
    tagged: bool = False,
    unchanged: bool = False,
) -> dict[str, Any]:
    """The arguments of a route that takes *body* and shows *shows*, with an ETag where it is *tagged*."""
    refusals = errors if body is None else (*errors, *_BODY)
    described: dict[str, Any] = {
        "summary": summary,
        "status_code": status,
        "response_model": None,
        "responses": responses(shows, status, refusals, tagged=tagged, unchanged=unchanged),
    }
    if body is not None:
        described["openapi_extra"] = {"requestBody": request_body(body, required=body_required)}
    return described


def request_body(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """A body that must be sent, unless it isn't *required*."""
    return {"required": required, "content": {JSON: {"schema": reference(model)}}}


def responses(
    shows: type[BaseModel] | None, status: int, errors: Sequence[int], *, tagged: bool = False, unchanged: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Every answer that there can be."""
    good: dict[str, Any] = {"description": _DONE[status]}
    if shows is not None:
        good["content"] = {JSON: {"schema": reference(shows)}}
    if tagged:
        good["headers"] = _ETAG
    answers: dict[int | str, dict[str, Any]] = {status: good}
    if unchanged:
        answers[304] = {"description": "Nothing has changed"}
    for code in sorted({*errors, *_ALWAYS}):
        answers[code] = _problem(code)
    return answers


def _problem(code: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": _REASONS[code],
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    return {**described, "headers": _WAIT} if code in (429, 503) else described
