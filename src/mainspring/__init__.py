"""Mainspring: a distributed job scheduler."""

from typing import TYPE_CHECKING, Any

from mainspring.version import __version__ as __version__

if TYPE_CHECKING:
    from mainspring.application import App as App
    from mainspring.client import Client as Client
    from mainspring.client import JobFailed as JobFailed
    from mainspring.client import Retry as Retry
    from mainspring.worker.context import Context as Context
    from mainspring.worker.flow import Abandon as Abandon
    from mainspring.worker.flow import Fail as Fail
    from mainspring.worker.flow import RetryAfter as RetryAfter
    from mainspring.worker.flow import Snooze as Snooze
    from mainspring.worker.registry import handler as handler

_EXPORTS = {
    "Abandon": "mainspring.worker.flow",
    "App": "mainspring.application",
    "Client": "mainspring.client",
    "Context": "mainspring.worker.context",
    "Fail": "mainspring.worker.flow",
    "JobFailed": "mainspring.client",
    "Retry": "mainspring.client",
    "RetryAfter": "mainspring.worker.flow",
    "Snooze": "mainspring.worker.flow",
    "handler": "mainspring.worker.registry",
}


def __getattr__(name: str) -> Any:
    # Imported when asked for: the command line starts faster without the worker.
    if name not in _EXPORTS:
        raise AttributeError(f"module 'mainspring' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_EXPORTS[name]), name)
