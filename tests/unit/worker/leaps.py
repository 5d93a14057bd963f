"""Time that leaps whenever nothing is left to do, and threads and children on the same loop."""

import asyncio
import functools
import inspect
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")
START = datetime(2026, 1, 5, 12, tzinfo=UTC)
LONGEST = 100_000.0
"""Seconds after which a test is taken to wait for something that never happens."""


class LeapingLoop(asyncio.SelectorEventLoop):
    """A loop whose time leaps to the next timer instead of waiting for it; for tests without threads."""

    def __init__(self) -> None:
        self._leapt = 0.0
        super().__init__(_LeapingSelector(self))

    def time(self) -> float:
        return self._leapt


class _LeapingSelector(selectors.DefaultSelector):
    def __init__(self, loop: LeapingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or self._loop.time() > LONGEST:
            raise RuntimeError("everybody waits for something that can't happen")
        events = super().select(0)
        if not events:
            self._loop._leapt = round(self._loop._leapt + timeout, 6)
        return events


def leaping(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test on a loop of its own whose time leaps."""

    @functools.wraps(test)
    def run(*arguments: Any, **fixtures: Any) -> None:
        with asyncio.Runner(loop_factory=LeapingLoop) as runner:
            runner.run(test(*arguments, **fixtures))

    # Otherwise the marks of an async test would be looked for behind the wrapper.
    del run.__wrapped__
    run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]  # so that fixtures are found
    return run


class LoopClock:
    """The running loop's time."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, duration: timedelta) -> None:
        await asyncio.sleep(duration.total_seconds())


class Half:
    """Chance that always falls in the middle."""

    def bits(self, count: int) -> int:
        return 1 << (count - 1)

    def uniform(self) -> float:
        return 0.5


class LoopTasks:
    """Threads and children on the same loop; *gate* holds every thread up until it is opened."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.asides: list[LoopAside] = []

    async def in_thread(self, function: Callable[[], T]) -> Any:
        result, error = await asyncio.shield(asyncio.ensure_future(self._held_up(function)))
        if error is not None:
            raise error
        return result

    async def in_process(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        await self.gate.wait()
        return function(**arguments)

    def aside(self, main: Callable[[], Awaitable[None]]) -> "LoopAside":
        aside = LoopAside(main)
        self.asides.append(aside)
        return aside

    async def _held_up(self, function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        await self.gate.wait()
        try:
            return function(), None
        except BaseException as error:  # noqa: BLE001 - an exit must not leave a task
            return None, error


class LoopAside:
    def __init__(self, main: Callable[[], Awaitable[None]]) -> None:
        self.task = asyncio.ensure_future(main())

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
