"""Event loops on virtual time. Each thread of each simulated process has one of its own, as in reality.

A loop only keeps what is ready to run; the `Universe` decides which loop takes the next step. So a process is paused
by holding its loops, blocked by holding the main one, and killed by halting them: its tasks then never resume.
"""

import asyncio
from asyncio.events import _set_running_loop
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from mainspring.testing.simulation.universe import Universe

T = TypeVar("T")
_MANY_TASKS = 256
_MOST_CLOSES = 10


class Turn:
    """A callback that waits to be run: an `asyncio.Handle` with nothing but what a simulation asks of one."""

    __slots__ = ("arguments", "callback", "context", "is_cancelled")

    def __init__(self, callback: Callable[..., object], arguments: tuple[Any, ...], context: Context | None) -> None:
        self.callback = callback
        self.arguments = arguments
        self.context = copy_context() if context is None else context
        self.is_cancelled = False

    def cancel(self) -> None:
        """It isn't to be run any more."""
        self.is_cancelled = True


class VirtualLoop(asyncio.AbstractEventLoop):
    """One thread's loop: first in, first out, no input/output, no real waiting."""

    def __init__(self, universe: "Universe", name: str) -> None:
        self.universe = universe
        self.name = name
        self.ready: deque[Turn] = deque()
        self.listed = False
        """Whether the universe knows that something is ready here."""
        self.held = 0
        """How many reasons there are to run nothing for now."""
        self.halted = False
        self.fuse = 0
        """Counts down with every step; at zero *burnt* is called. Zero from the beginning: never."""
        self.burnt: Callable[[], None] | None = None
        self._tasks: list[asyncio.Task[Any]] = []

    def step(self) -> None:
        """Run the oldest callback."""
        turn = self.ready.popleft()
        if not turn.is_cancelled:
            _set_running_loop(self)
            try:
                turn.context.run(turn.callback, *turn.arguments)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # noqa: BLE001 - the loop goes on, as every loop does
                self.call_exception_handler({"message": f"Exception in {turn.callback}", "exception": error})
            _set_running_loop(None)
        if self.fuse:
            self.fuse -= 1
            if not self.fuse and self.burnt is not None:
                self.burnt()

    def hold(self) -> None:
        """Run nothing until released as often as held; what becomes ready meanwhile waits."""
        self.held += 1

    def release(self) -> None:
        """Go on where it was held, unless there is another reason not to."""
        self.held = max(self.held - 1, 0)
        self.universe.list(self)

    def halt(self) -> None:
        """Run nothing ever again."""
        self.halted = True
        self.ready.clear()

    def bury(self) -> None:
        """Close every coroutine that never ended. What their clean-up tries to do reaches nobody any more."""
        self.halted = True
        _set_running_loop(self)
        try:
            for task in self._tasks:
                if not task.done():
                    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - it was meant to be
                    _close(task.get_coro())
        finally:
            _set_running_loop(None)
        self._tasks.clear()

    # What tasks, futures, timeouts and sleeps ask of a loop.

    def time(self) -> float:
        """Virtual seconds."""
        return self.universe.time

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Turn:
        """At the end of the queue."""
        turn = Turn(callback, args, context)
        if not self.halted:
            self.ready.append(turn)
            if not self.listed:
                self.universe.list(self)
        return turn

    call_soon_threadsafe = call_soon  # type: ignore[assignment]  # there is one thread

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Turn:
        """After *delay* virtual seconds."""
        return self.call_at(self.universe.time + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Turn:
        """At *when*."""
        turn = Turn(callback, args, context)
        self.universe.at(when, self._awaken, turn)
        return turn

    def create_future(self) -> "asyncio.Future[Any]":
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        """A task of this loop, which keeps it: nothing that was killed is ever collected and tidied up halfway."""
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        if len(self._tasks) > _MANY_TASKS:
            self._tasks = [each for each in self._tasks if not each.done()]
        self._tasks.append(task)
        return task

    def get_debug(self) -> bool:
        """Never."""
        return False

    def is_running(self) -> bool:
        """Whenever anybody can ask."""
        return True

    def is_closed(self) -> bool:
        """Whether its process is gone."""
        return self.halted

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Nobody may leave an exception lying about."""
        if not self.halted:
            self.universe.complain(f"{self.name}: {context.get('message')}: {context.get('exception')!r}")

    def _awaken(self, turn: Turn) -> None:
        if not self.halted and not turn.is_cancelled:
            self.ready.append(turn)
            if not self.listed:
                self.universe.list(self)


def _close(coroutine: Any) -> None:
    for _ in range(_MOST_CLOSES):
        try:
            coroutine.close()
        except BaseException:  # noqa: BLE001, S112 - it waits for something in its clean-up: close it there, too
            continue
        return
