"""What a webhook sends, read from its payload and its run. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mainspring.version import __version__
from mainspring.worker.context import Context
from mainspring.worker.flow import Abandon
from mainspring.worker.handlers.payload import Fields
from mainspring.worker.handlers.target import Target, read_url
from mainspring.worker.payload import member_text

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_DEFAULT_TIMEOUT_MS, _LONGEST_TIMEOUT_MS = 30_000, 86_400_000
_BODILESS = ("GET", "HEAD")

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# Ours, or the transport's: another value would lie about the message or break its framing.
_RESERVED = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    }
)
_RESERVED_PREFIXES = ("proxy-", "x-mainspring-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A webhook's call but for its signature, whose time is that of sending."""

    target: Target
    method: str
    headers: Mapping[str, str]
    body: bytes
    timeout: timedelta


def read_request(payload: Any, context: Context) -> Request:
    """Check every field of the payload and complete it from the run."""
    fields = Fields(payload, "url", "method", "headers", "body", "timeout")
    method = fields.text("method", "POST").upper()
    if method not in METHODS:
        raise Abandon(f"method: must be one of {', '.join(METHODS)}")
    given = _checked_headers(fields.mapping("headers"))
    body = _body(fields, method, context, typed="content-type" in given)
    milliseconds = fields.number("timeout", _DEFAULT_TIMEOUT_MS, low=1, high=_LONGEST_TIMEOUT_MS)
    return Request(
        target=read_url(fields.text("url")),
        method=method,
        headers={**_defaults(context, body), **given, **_ours(context)},
        body=body,
        timeout=timedelta(milliseconds=milliseconds),
    )


def _body(fields: Fields, method: str, context: Context, *, typed: bool) -> bytes:
    """The given body's JSON, but text of a given type as it is; null is no body, none given describes the run.

    JSON goes on byte for byte as the payload has it: another program may read more digits than this one.
    """
    body = fields.raw("body")
    if fields.has("body"):
        if body is None:
            return b""
        if isinstance(body, str) and typed:
            return fields.text("body", "").encode()
        return member_text(context.payload_text, "body")
    if method in _BODILESS:
        return b""
    run = {"job_id": str(context.job_id), "execution_id": str(context.run_id), "attempt": context.attempt}
    members = json.dumps(run, separators=(",", ":")).encode()
    return b"".join((members[:-1], b',"payload":', context.payload_text.strip(), b"}"))


def _defaults(context: Context, body: bytes) -> Mapping[str, str]:
    defaults = {"idempotency-key": str(context.run_id), "accept-encoding": "identity"}
    if context.traceparent is not None:
        defaults["traceparent"] = context.traceparent
    return {**defaults, "content-type": "application/json"} if body else defaults


def _ours(context: Context) -> Mapping[str, str]:
    return {
        "user-agent": f"Mainspring/{__version__}",
        "x-mainspring-run": str(context.run_id),
        "x-mainspring-job": str(context.job_id),
        "x-mainspring-attempt": str(context.attempt),
        "x-mainspring-fence": str(context.fence),
    }


def _checked_headers(given: Mapping[str, str]) -> Mapping[str, str]:
    """The user's headers by lower-case name, so that none can stand beside its own twin."""
    headers: dict[str, str] = {}
    for name, value in given.items():
        lower = name.lower()
        if not _TOKEN.fullmatch(name):
            raise Abandon("headers: a name must consist of letters, digits and '-'")
        if lower in _RESERVED or lower.startswith(_RESERVED_PREFIXES):
            raise Abandon(f"headers: {name} is set by Mainspring and can't be given")
        if lower in headers:
            raise Abandon(f"headers: {name} is given twice")
        if _CONTROL.search(value):
            raise Abandon(f"headers: the value of {name} must not contain line breaks or other control characters")
        headers[lower] = value
    return headers
