"""On whose behalf the nodes are asked: every verb of a port leaves its name with all that it has them do."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from mainspring.testing.simulation.ports import ProcessClock
from mainspring.testing.simulation.process import Process


@dataclass(slots=True, eq=False)
class Asking:
    """One call of a port's verb."""

    process: str
    verb: str
    arguments: tuple[Any, ...]
    sent: float
    readings: list[datetime] = field(default_factory=list)
    """What it has read from its process's clock so far."""


_CURRENT: ContextVar[Asking | None] = ContextVar("asking", default=None)


def current() -> Asking | None:
    """The verb that is being carried out by this task, or by the one that started it."""
    return _CURRENT.get()


class AskingClock(ProcessClock):
    """A process's clock that knows for which verb it is read: what is due is decided by what the verb was told."""

    def now(self) -> datetime:
        """The wall clock of this machine."""
        reading = super().now()
        asking = current()
        if asking is not None:
            asking.readings.append(reading)
        return reading


class Audience(Protocol):
    """Somebody who hears every answer."""

    def answered(self, asking: Asking, answer: Any) -> None:
        """A verb has returned to the process that called it."""
        ...


class Overheard:
    """One port of a process's own store, with every call overheard."""

    def __init__(self, port: Any, name: str, process: Process, audience: Audience) -> None:
        self._port = port
        self._name = name
        self._process = process
        self._audience = audience

    def __getattr__(self, name: str) -> Any:
        verb, process, method = f"{self._name}.{name}", self._process, getattr(self._port, name)

        async def call(*arguments: Any, **options: Any) -> Any:
            process.check()
            asking = Asking(process.label, verb, arguments, process.universe.time)
            _CURRENT.set(asking)
            answer = await method(*arguments, **options)
            self._audience.answered(asking, answer)
            return answer

        setattr(self, name, call)
        return call
