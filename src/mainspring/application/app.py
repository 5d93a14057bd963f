"""An application: functions that become tasks, and the worker that runs them."""

import inspect
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from mainspring.application.doors import ClientDoor, Door
from mainspring.application.portal import Portal
from mainspring.application.task import CURRENT, SubmitOptions, Task
from mainspring.application.working import run_in_foreground, running_beside
from mainspring.client import Client, Retry
from mainspring.client.models import Misfire
from mainspring.client.requests import Overlap, every
from mainspring.domain.ids import DEFAULT_LANE
from mainspring.errors import ConfigurationError
from mainspring.wiring.declaration import Declared
from mainspring.wiring.local import local_client
from mainspring.wiring.reading import check_names, read_settings
from mainspring.wiring.resources import opened
from mainspring.wiring.settings import Settings
from mainspring.wiring.stores import shared_folder
from mainspring.worker.context import Context
from mainspring.worker.registry import Registry

P = ParamSpec("P")
V = TypeVar("V")


class Decorator:
    """Makes a task of a function, coroutine or not."""

    def __init__(self, make: Callable[[Callable[..., Any]], Task[..., Any, Any]]) -> None:
        self._make = make

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, V]]) -> Task[P, Coroutine[Any, Any, V], V]: ...
    @overload
    def __call__(self, function: Callable[P, V]) -> Task[P, V, V]: ...
    def __call__(self, function: Callable[..., Any]) -> Task[..., Any, Any]:
        """The task."""
        return self._make(function)


class App:
    """`App("sqlite:///data/mainspring.db")` works on a store; `App("http://…")` only submits, to a server.

    Without a URL it is what MAINSPRING_STORE or else MAINSPRING_URL says, or else `data/mainspring.db` here.
    """

    def __init__(self, url: str | None = None, *, key: str | None = None, owner: str | None = None) -> None:
        environment = os.environ
        self.url = url or environment.get("MAINSPRING_STORE") or environment.get("MAINSPRING_URL")
        self.registry = Registry()
        self.door: Door = ClientDoor(Portal(self._connected))
        """Where submissions go; `mainspring.testing` puts others in its place."""
        self._key = key
        self._owner = owner
        self._tasks: list[Task[..., Any, Any]] = []

    @property
    def context(self) -> Context:
        """The run in whose function the caller is: its attempt, its output, its cancellation."""
        try:
            return CURRENT.get()
        except LookupError:
            raise LookupError("no task runs here: a context is there only while a worker calls the function") from None

    def task(
        self,
        name: str | None = None,
        *,
        schedule: str | timedelta | None = None,
        timezone: str | None = None,
        retries: int | None = None,
        retry: Retry | None = None,
        timeout: timedelta | None = None,
        priority: int | None = None,
        lane: str | None = None,
        overlap: Overlap | None = None,
        misfire: Misfire | None = None,
        isolate: bool = False,
    ) -> Decorator:
        """Make a task of the decorated function, called *name* or else after its module and itself.

        With a *schedule*, a cron expression or an interval, it is also called by the clock, without arguments. An
        *isolated* task runs in a child process, which is killed when its time is up.
        """
        if callable(name):
            raise ConfigurationError(f"write @app.task() with parentheses before {name.__name__!r}")
        options = SubmitOptions(allow_unknown_handler=True, lane=lane or DEFAULT_LANE)
        given: dict[str, Any] = {"timezone": timezone, "max_retries": retries, "retry": retry, "timeout": timeout}
        given |= {"priority": priority, "overlap": overlap, "misfire": misfire}
        options.update({key: value for key, value in given.items() if value is not None})  # type: ignore[typeddict-item]  # the names are those of the options

        def make(function: Callable[..., Any]) -> Task[..., Any, Any]:
            called = name or _name_of(function)
            when = every(schedule) if isinstance(schedule, timedelta) else schedule
            task: Task[..., Any, Any] = Task(self, function, name=called, schedule=when, options=options)
            if when is not None:
                _check_callable_alone(called, function)
            self.registry.add(called, task.handler(), lane=options["lane"], isolate=isolate)
            self._tasks.append(task)
            return task

        return Decorator(make)

    @property
    def store(self) -> str | None:
        """The URL of its store; None if it has only a server, or neither was named."""
        return None if self.url is None or _is_server(self.url) else self.url

    def declared(self) -> Sequence[Declared]:
        """What the code says about each task's schedule."""
        return [task.declared() for task in self._tasks]

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[None]:
        """A worker and a scheduler in this process, while the block runs; on leaving, what runs may end first."""
        async with running_beside(self._own_settings(), self):
            yield

    async def run_worker(self) -> None:
        """Be a worker and a scheduler until a signal asks to stop."""
        await run_in_foreground(self._own_settings(), self)

    def close(self) -> None:
        """Let go of the connection; the next submission would open it again."""
        self.door.close()

    def settings(self) -> Settings:
        """The settings of a process on this application's store; ConfigurationError if it only has a server."""
        if self.url is not None and _is_server(self.url):
            raise ConfigurationError(f"{self.url} is a server; a worker needs its store: App('sqlite:///…')")
        flags: dict[str, str] = {}
        if self.url is not None:
            flags["store"] = self.url
            folder = shared_folder(self.url)
            if folder is not None and "MAINSPRING_DATA" not in os.environ:
                flags["data"] = str(folder)
        return read_settings(flags=flags, environment=os.environ)

    def _own_settings(self) -> Settings:
        """Those of a process that works. One that only submits doesn't fail for a setting that is none."""
        check_names(environment=os.environ)
        return self.settings()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        if self.url is not None and _is_server(self.url):
            async with Client(self.url, key=self._key, owner=self._owner) as client:
                yield client
        else:
            async with (
                opened(self.settings(), service="mainspring-app") as resources,
                local_client(resources, owner=self._owner) as client,
            ):
                yield client


def _is_server(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _name_of(function: Callable[..., Any]) -> str:
    module = function.__module__
    if module == "__main__":
        # The file that is run as a program here is imported under its own name by a worker elsewhere.
        module = Path(getattr(sys.modules["__main__"], "__file__", None) or "main").stem
    return f"{module}.{function.__qualname__}"


def _check_callable_alone(name: str, function: Callable[..., Any]) -> None:
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise ConfigurationError(f"the task {name!r} has a schedule, but can't be called alone: {error}") from None
