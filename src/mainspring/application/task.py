"""A function that can be called later, elsewhere, again and again."""

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, Unpack, cast
from uuid import UUID

from mainspring.application.arguments import Arguments, WrongArguments
from mainspring.client.requests import JobOptions, NewJob, When, new_job
from mainspring.wiring.declaration import Declared
from mainspring.worker.context import Context
from mainspring.worker.flow import Abandon

if TYPE_CHECKING:
    from mainspring.application.app import App

P = ParamSpec("P")
Called = TypeVar("Called")
"""What a plain call returns: a coroutine if the function is one."""
Value = TypeVar("Value")
"""What the function comes to."""

CURRENT: ContextVar[Context] = ContextVar("mainspring-context")
"""The run in whose function the caller is."""


class SubmitOptions(JobOptions, total=False):
    """What can be said about one submission."""

    key: str
    """The submitter's own; submitting the same again under it is harmless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted(Generic[Value]):
    """A call that was accepted."""

    id: UUID
    """The job's."""
    task: "Task[..., Any, Value]"

    async def result(self, *, at_most: timedelta | None = None) -> Value:
        """What the function returns, once it has; JobFailed if it failed for good, ResultTimeout after *at_most*."""
        return self.task.value_from(await self.task.app.door.result(self.id, at_most))

    def wait(self, *, at_most: timedelta | None = None) -> Value:
        """The same, for callers without a loop."""
        return self.task.value_from(self.task.app.door.result_blocking(self.id, at_most))


class Task(Generic[P, Called, Value]):
    """A function of an application. Called, it is the function itself; submitted, a worker calls it."""

    def __init__(
        self,
        app: "App",
        function: Callable[P, Called],
        *,
        name: str,
        schedule: When | None,
        options: SubmitOptions,
    ) -> None:
        functools.update_wrapper(self, function)
        self.app = app
        self.name = name
        self.schedule = schedule
        self._function = function
        self._options = options
        self._arguments = Arguments(name, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Called:
        """Call the function here and now, as if it weren't a task."""
        return self._function(*args, **kwargs)

    async def submit(self, *args: P.args, **kwargs: P.kwargs) -> Submitted[Value]:
        """Let a worker call the function as soon as one is free; WrongArguments before anything is sent."""
        return await self._submit(None, args, kwargs)

    async def submit_at(self, when: datetime, /, *args: P.args, **kwargs: P.kwargs) -> Submitted[Value]:
        """Let a worker call the function at *when*."""
        return await self._submit(when, args, kwargs)

    async def submit_in(self, delay: timedelta, /, *args: P.args, **kwargs: P.kwargs) -> Submitted[Value]:
        """Let a worker call the function after *delay*."""
        return await self._submit(delay, args, kwargs)

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> Submitted[Value]:
        """`submit` for callers without a loop."""
        return self._delay(None, args, kwargs)

    def delay_until(self, when: datetime, /, *args: P.args, **kwargs: P.kwargs) -> Submitted[Value]:
        """`submit_at` for callers without a loop."""
        return self._delay(when, args, kwargs)

    def delay_by(self, delay: timedelta, /, *args: P.args, **kwargs: P.kwargs) -> Submitted[Value]:
        """`submit_in` for callers without a loop."""
        return self._delay(delay, args, kwargs)

    def job(self, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """The call as a job that nobody has yet: for `Client.submit_new` or `batch`, or a transaction of your own."""
        return self._job(None, args, kwargs)

    def using(self, **options: Unpack[SubmitOptions]) -> "Task[P, Called, Value]":
        """The same task with other options: `task.using(priority=90, key="order-7").submit(…)`."""
        options = cast("SubmitOptions", {**self._options, **options})
        return Task(self.app, self._function, name=self.name, schedule=self.schedule, options=options)

    def perform(self, payload: Any, context: Context) -> Any:
        """Call the function with the arguments in *payload*, as a worker does; a coroutine if the function is one."""
        try:
            args, kwargs = self._arguments.read(payload)
        except WrongArguments as error:
            # It will stay wrong, however often it is tried.
            raise Abandon(str(error)) from None
        if inspect.iscoroutinefunction(self._function):
            return self._perform_coroutine(context, args, kwargs)
        token = CURRENT.set(context)
        try:
            return self._arguments.result_json(self._function(*args, **kwargs))
        finally:
            CURRENT.reset(token)

    def handler(self) -> Callable[..., Any]:
        """What a worker registers; another process finds it as the attribute `perform` of the task."""

        async def coroutine(payload: Any, context: Context) -> Any:
            return await self.perform(payload, context)

        def plain(payload: Any, context: Context) -> Any:
            return self.perform(payload, context)

        handler = coroutine if inspect.iscoroutinefunction(self._function) else plain
        handler.__module__ = self._function.__module__
        handler.__qualname__ = f"{self._function.__qualname__}.perform"
        return handler

    def value_from(self, result: Any) -> Value:
        """The function's value from its JSON."""
        return cast("Value", self._arguments.result_from(result))

    def declared(self) -> Declared:
        """What the code says about the task's schedule."""
        schedule = None if self.schedule is None else new_job(self.name, schedule=self.schedule).body["schedule"]
        options = cast("JobOptions", {name: value for name, value in self._options.items() if name != "key"})
        return Declared(
            key=f"task/{self.name}",
            handler=self.name,
            schedule=schedule and " ".join(schedule.split()),
            payload=self._arguments.written((), {}) if schedule else None,
            options=options,
        )

    async def _perform_coroutine(self, context: Context, args: list[Any], kwargs: dict[str, Any]) -> Any:
        token = CURRENT.set(context)
        try:
            return self._arguments.result_json(await self._function(*args, **kwargs))  # type: ignore[misc]  # it is a coroutine function
        finally:
            CURRENT.reset(token)

    async def _submit(self, when: When | None, args: Any, kwargs: Any) -> Submitted[Value]:
        job_id = await self.app.door.submit(self, self._job(when, args, kwargs))
        return Submitted(id=job_id, task=self)

    def _delay(self, when: When | None, args: Any, kwargs: Any) -> Submitted[Value]:
        job_id = self.app.door.submit_blocking(self, self._job(when, args, kwargs))
        return Submitted(id=job_id, task=self)

    def _job(self, when: When | None, args: Any, kwargs: Any) -> NewJob:
        options = cast("SubmitOptions", {key: value for key, value in self._options.items() if key != "timezone"})
        return new_job(self.name, self._arguments.written(args, kwargs), schedule=when, **options)
