"""Log lines: readable on a terminal, one JSON object each elsewhere. Libraries that log by the standard way join in."""

import logging
import sys
from collections.abc import MutableMapping
from enum import Enum
from typing import Any, TextIO
from uuid import UUID

import structlog
from structlog.typing import Processor

_QUIET = ("uvicorn.access", "uvicorn.error", "asyncio", "cassandra")
"""Loggers that say nothing below a warning: a line per request helps nobody, and we log our own start and end."""


def configure_logging(form: str, level: str, stream: TextIO | None = None) -> None:
    """Send every log line to *stream*, the standard error unless given; *form* is auto, console or json."""
    stream = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _with_plain_values,
                *_rendering(form, stream),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _rendering(form: str, stream: TextIO) -> list[Processor]:
    if form == "console" or (form == "auto" and stream.isatty()):
        return [structlog.dev.ConsoleRenderer(colors=stream.isatty())]
    return [_time_first, structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]


def _with_plain_values(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {name: _plain(value) for name, value in event.items()}


def _plain(value: Any) -> Any:
    """What one would write: not how Python shows members of an enumeration and ids, alone or in a collection."""
    match value:
        case Enum():
            return value.value
        case UUID():
            return str(value)
        case dict():
            return {_plain(key): _plain(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(each) for each in value]
        case _:
            return value


def _time_first(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The members that every line has come first, so that lines can be read one below the other."""
    first = ("timestamp", "level", "event", "logger")
    return {**{name: event[name] for name in first if name in event}, **event}
