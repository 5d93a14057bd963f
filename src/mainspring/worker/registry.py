"""The handlers that this process can run, by name, each in one lane.

How a handler runs and which arguments it takes is decided here, at registration, so that it costs a run nothing.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from mainspring.domain.ids import DEFAULT_LANE, Lane
from mainspring.errors import ConfigurationError

Function = TypeVar("Function", bound=Callable[..., Any])

_MOST_ARGUMENTS = 2


class Kind(StrEnum):
    """Where a handler runs."""

    ASYNC = "async"
    THREAD = "thread"
    PROCESS = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A registered function; it takes the first *arguments* of (payload, context)."""

    name: str
    lane: Lane
    function: Callable[..., Any]
    kind: Kind
    arguments: int

    @property
    def address(self) -> str:
        """Where another process finds the function: `module:qualified.name`."""
        return f"{self.function.__module__}:{self.function.__qualname__}"


class Registry:
    """A set of handlers, filled by decorators at import time."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._off: dict[str, str] = {}

    def handler(self, name: str, *, lane: str = DEFAULT_LANE, isolate: bool = False) -> Callable[[Function], Function]:
        """Register the decorated function: async ones run in the loop, others in threads, isolated ones in children."""

        def register(function: Function) -> Function:
            self.add(name, function, lane=lane, isolate=isolate)
            return function

        return register

    def add(self, name: str, function: Callable[..., Any], *, lane: str = DEFAULT_LANE, isolate: bool = False) -> None:
        """Register *function*; a name that is taken is an error, because two modules would fight over its runs."""
        if name in self._handlers or name in self._off:
            raise ConfigurationError(f"the handler {name!r} is registered twice; give one of them another name")
        kind = _kind_of(name, function, isolate=isolate)
        self._handlers[name] = Handler(
            name=name, lane=Lane(lane), function=function, kind=kind, arguments=_count_arguments(name, function)
        )

    def switch_off(self, name: str, why: str) -> None:
        """Don't run the handler *name* here: other workers may, so that its runs are handed back and *why* is said."""
        self._off[name] = why

    def find(self, name: str) -> Handler | None:
        """The handler of that name, or None."""
        return self._handlers.get(name)

    def why_not(self, name: str) -> str:
        """Why a run of the handler *name*, which isn't found here, is handed back."""
        return self._off.get(name) or f"the handler {name!r} isn't registered here"

    def lanes(self) -> Sequence[Lane]:
        """The lanes of all handlers, sorted."""
        return sorted({handler.lane for handler in self._handlers.values()})

    def names(self) -> Mapping[str, Lane]:
        """Every handler's name with its lane."""
        return {handler.name: handler.lane for handler in self._handlers.values()}


DEFAULT = Registry()
"""Where `mainspring.handler` registers."""

handler = DEFAULT.handler


def _kind_of(name: str, function: Callable[..., Any], *, isolate: bool) -> Kind:
    call = type(function).__call__ if not inspect.isroutine(function) and callable(function) else function
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise ConfigurationError(
            f"the handler {name!r} is a generator, which nothing would run; return a value instead"
        )
    asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
    if not isolate:
        return Kind.ASYNC if asynchronous else Kind.THREAD
    if "<" in getattr(function, "__qualname__", "<"):
        raise ConfigurationError(f"the isolated handler {name!r} must be a function at the top level of its module")
    return Kind.PROCESS


def _count_arguments(name: str, function: Callable[..., Any]) -> int:
    parameters = inspect.signature(function).parameters.values()
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    demanded = [each for each in parameters if each.kind is each.KEYWORD_ONLY and each.default is each.empty]
    if demanded or sum(each.default is each.empty for each in positional) > _MOST_ARGUMENTS:
        raise ConfigurationError(f"the handler {name!r} must take (payload, context), (payload) or nothing")
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return _MOST_ARGUMENTS
    return min(len(positional), _MOST_ARGUMENTS)
