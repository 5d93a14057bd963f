"""Requests within the caller's own trace, where the caller's program has OpenTelemetry loaded."""

import sys


def current_trace() -> str | None:
    """Where the trace of the span that encloses the caller goes on, as a W3C traceparent."""
    headers: dict[str, str] = {}
    add_trace(headers)
    return headers.get("traceparent")


def add_trace(headers: dict[str, str]) -> None:
    """Add where the trace of the span that encloses the caller goes on, by the program's own propagators.

    A program that hasn't loaded OpenTelemetry has no span: then this is one look into a dictionary.
    """
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry.propagate import inject  # noqa: PLC0415 - the program has loaded most of it already

        inject(headers)
