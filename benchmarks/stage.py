"""Where one measure of one contender takes place: a folder, a hit log, sizes, and the children in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from benchmarks import contenders
from benchmarks.contender import Contender
from benchmarks.hits import Hit, HitLog
from benchmarks.process import Child, ChildFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much each measure does."""

    jobs: int = 20_000
    single_adds: int = 2_000
    callers: int = 32
    idle_starts: int = 200
    timers: int = 200
    timer_span: timedelta = timedelta(seconds=5)
    idle_span: timedelta = timedelta(seconds=10)
    kills: int = 20
    backlog: int = 1_000_000
    backlog_limit: timedelta = timedelta(minutes=2)
    backlog_pairs: int = 3


QUICK = Sizes(
    jobs=200,
    single_adds=50,
    idle_starts=10,
    timers=10,
    timer_span=timedelta(milliseconds=500),
    idle_span=timedelta(seconds=1),
    kills=2,
    backlog=500,
    backlog_pairs=1,
)


def names() -> list[str]:
    """Every contender that has a module, our own first."""
    found = [module.name for module in iter_modules(contenders.__path__)]
    return sorted(found, key=lambda name: (name != "mainspring", name))


def contender(name: str) -> Contender:
    built: Contender = import_module(f"benchmarks.contenders.{name}").CONTENDER()
    return built


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    name: str
    folder: Path
    sizes: Sizes
    log_name: str = "hits"

    @property
    def contender(self) -> Contender:
        return contender(self.name)

    @property
    def hits(self) -> HitLog:
        return HitLog(self.folder / self.log_name)

    def within(self, folder: str) -> "Stage":
        """A stage on a store of its own below this one."""
        return replace(self, folder=self.folder / folder)

    def logging_to(self, log_name: str) -> "Stage":
        """The same store with a fresh hit log."""
        return replace(self, log_name=log_name)

    def executed(self) -> list[Hit]:
        """The hits so far, of which there must be some for a measure to say anything."""
        if not (hits := self.hits.read()):
            raise ChildFailed(f"{self.name} executed nothing")
        return hits

    def waiting(self) -> int:
        return self.contender.waiting(self.folder)

    def worker(self) -> Child:
        """A process that executes from the moment it is returned."""
        child = self._child("worker")
        try:
            child.work()
        except BaseException:
            child.kill()
            raise
        return child

    def client(self) -> Child:
        """A process that adds and doesn't execute."""
        return self._child("client")

    @contextmanager
    def submitter(self, worker: Child) -> Iterator[Child]:
        """The process to add from while *worker* runs: another one, where the contender allows it."""
        if self.contender.adds_only_in_worker:
            yield worker
        else:
            with self.client() as client:
                yield client

    def preload(self, count: int) -> None:
        """Store *count* jobs that are due at once, with nobody working."""
        with self.client() as client:
            client.ask("add_all", first=0, count=count)

    def _child(self, role: str) -> Child:
        return Child(self.name, role, folder=self.folder, hits=self.hits.path)
