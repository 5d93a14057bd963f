"""The package's loggers: events with fields, written wherever the program that runs us writes its own.

A program that has configured structlog gets our events there, as the `mainspring` command does. Any other gets them as
lines of the standard library's `logging`, whose handlers and levels are the program's: without any, Python itself shows
warnings on the standard error. Nothing is configured here, and nothing is printed.
"""

import logging
from typing import Any, cast

import structlog
from structlog.typing import EventDict, Processor

_CONTROL = ("exc_info", "stack_info")


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """The logger called *name*; where its events go is decided when they happen."""
    return cast("structlog.stdlib.BoundLogger", _Logger(name))


def logger_through(processor: Processor, name: str) -> structlog.stdlib.BoundLogger:
    """A logger whose events pass *processor* first, and then go where all events go."""
    if not structlog.is_configured():
        return _standard(name, processor)
    configured = structlog.get_config()
    logger: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        configured["logger_factory"](name),
        processors=[processor, *configured["processors"]],
        wrapper_class=configured["wrapper_class"],
    )
    return logger


class _Logger:
    """Chosen anew for each event: modules are imported long before a program configures anything."""

    def __init__(self, name: str) -> None:
        self._configured = structlog.get_logger(name)
        self._standard = _standard(name)

    def __getattr__(self, method: str) -> Any:
        return getattr(self._configured if structlog.is_configured() else self._standard, method)


def _standard(name: str, *first: Processor) -> structlog.stdlib.BoundLogger:
    processors: list[Processor] = [
        *first,
        structlog.stdlib.filter_by_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        _as_line,
    ]
    logger: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        logging.getLogger(name), processors=processors, wrapper_class=structlog.stdlib.BoundLogger
    )
    return logger


def _as_line(_logger: Any, _method: str, event: EventDict) -> tuple[tuple[str, str], dict[str, Any]]:
    """The event and its fields as one line, given as an argument: a field may contain a percent sign."""
    control = {key: event.pop(key) for key in _CONTROL if key in event}
    fields = "".join(f" {key}={value!r}" for key, value in event.items() if key != "event")
    return ("%s", f"{event['event']}{fields}"), control
