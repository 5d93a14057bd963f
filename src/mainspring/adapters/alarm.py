"""Waking a coroutine at a moment: to a tenth of a millisecond on Linux, to the millisecond of the loop elsewhere.

Event loops round their timers to whole milliseconds, and the fast ones count from a moment that has passed: a run
would start up to a millisecond late, or its worker would look too early, find nothing and look again.
"""

import asyncio
import ctypes
import os
import sys
from contextlib import suppress
from typing import Protocol

_CLOCK_MONOTONIC = 1
_AT_ONCE = 0.000_001
"""Zero would mean never."""


class Alarm(Protocol):
    """Wakes one waiter at a time, on the loop that it was made for."""

    def set(self, woken: "asyncio.Future[bool]", seconds: float) -> None:
        """Answer *woken* with False that long from now, unless it was answered before."""
        ...

    def clear(self) -> None:
        """Wake nobody."""
        ...

    def close(self) -> None:
        """Give back what the system lent; for the thread of the loop only."""
        ...


def fine_alarm(loop: asyncio.AbstractEventLoop) -> Alarm:
    """The finest alarm that this system has."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError, NotImplementedError):
            return _KernelAlarm(loop)
    return LoopAlarm(loop)


class LoopAlarm:
    """By the timers of the loop, in whatever time it lives."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    def set(self, woken: "asyncio.Future[bool]", seconds: float) -> None:
        """Have the loop call us."""
        self._handle = self._loop.call_later(max(seconds, 0), _wake, woken)

    def clear(self) -> None:
        """Take that back."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def close(self) -> None:
        """Nothing was lent."""
        self.clear()


class _Moment(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Moment), ("value", _Moment))


class _KernelAlarm:
    """By a timer of the kernel, which the loop watches as it watches a socket."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # None of these calls waits for anything: giving the interpreter away for them would only wake other threads.
        self._system = ctypes.PyDLL(None, use_errno=True)
        self._descriptor = self._system.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "no timer")
        self._loop = loop
        self._woken: asyncio.Future[bool] | None = None
        try:
            loop.add_reader(self._descriptor, self._ring)
        except BaseException:
            os.close(self._descriptor)
            raise

    def set(self, woken: "asyncio.Future[bool]", seconds: float) -> None:
        """Wind the timer up."""
        self._woken = woken
        self._wind(max(seconds, _AT_ONCE))

    def clear(self) -> None:
        """Stop the timer; if it has gone off in this very moment, nobody is woken."""
        self._woken = None
        self._wind(0)

    def close(self) -> None:
        """Give the timer back; twice changes nothing."""
        if self._descriptor < 0:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1

    def _wind(self, seconds: float) -> None:
        whole = int(seconds)
        setting = _Setting(_Moment(0, 0), _Moment(whole, int((seconds - whole) * 1e9)))
        self._system.timerfd_settime(self._descriptor, 0, ctypes.byref(setting), None)

    def _ring(self) -> None:
        with suppress(BlockingIOError):  # it was wound up anew since
            os.read(self._descriptor, 8)
            if self._woken is not None:
                _wake(self._woken)


def _wake(woken: "asyncio.Future[bool]") -> None:
    if not woken.done():
        woken.set_result(False)
