"""Where one measure of one contender takes place: a store, a hit log, sizes, and the children in it."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from benchmarks import contenders
from benchmarks.contender import Contender, Place
from benchmarks.hits import Hit, HitLog
from benchmarks.hosts import Hosts
from benchmarks.process import Child, ChildFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much each measure does."""

    jobs: int = 100_000
    single_adds: int = 2_000
    first_adds: int = 1_000
    concurrent_adds: int = 10_000
    callers: int = 32
    idle_starts: int = 200
    timers: int = 200
    timer_span: timedelta = timedelta(seconds=5)
    idle_span: timedelta = timedelta(seconds=10)
    kills: int = 20
    takeover: timedelta = timedelta(minutes=2)
    backlog: int = 1_000_000
    backlog_limit: timedelta = timedelta(minutes=2)
    backlog_pairs: int = 5
    latency_pairs: int = 10
    latency_starts: int = 400
    history: int = 10_000_000
    history_limit: timedelta = timedelta(minutes=5)
    sessions: int = 1_000
    sessions_span: timedelta = timedelta(seconds=30)


QUICK = Sizes(
    jobs=200,
    single_adds=50,
    first_adds=50,
    concurrent_adds=50,
    idle_starts=10,
    timers=10,
    timer_span=timedelta(milliseconds=500),
    idle_span=timedelta(seconds=1),
    kills=2,
    takeover=timedelta(seconds=20),
    backlog=500,
    backlog_pairs=1,
    latency_pairs=1,
    latency_starts=10,
    history=500,
    sessions=20,
    sessions_span=timedelta(seconds=1),
)


def names() -> list[str]:
    """Every contender that has a module, our own first."""
    found = [module.name for module in iter_modules(contenders.__path__)]
    return sorted(found, key=lambda name: (not name.startswith("mainspring"), name))


def contender(name: str) -> Contender:
    built: Contender = import_module(f"benchmarks.contenders.{name}").CONTENDER()
    return built


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    name: str
    folder: Path
    sizes: Sizes
    hosts: Hosts
    log_name: str = "hits"

    @property
    def contender(self) -> Contender:
        return contender(self.name)

    @property
    def jobs(self) -> int:
        """How many jobs this contender gets where a measure is about a number of them."""
        return min(self.sizes.jobs, self.contender.traits.most_jobs or self.sizes.jobs)

    @property
    def hits(self) -> HitLog:
        return HitLog(self.folder / self.log_name)

    def place(self, process: int = 0) -> Place:
        """This stage's store, as the process of that number sees it."""
        server = self.contender.traits.server
        url = "" if server is None else self.hosts.url(server, self.folder)
        return Place(folder=self.folder, url=url, process=process)

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
        return self.contender.waiting(self.place())

    def settle(self) -> None:
        """Let the server and the disk tidy up after a large change now, not in the middle of a measure."""
        if (server := self.contender.traits.server) is not None:
            self.hosts.settle(server, self.folder)
        os.sync()

    def server_cpu_seconds(self) -> float | None:
        """What the contender's server has used so far; None if it has none."""
        server = self.contender.traits.server
        return None if server is None else self.hosts.usage(server).cpu_seconds

    @contextmanager
    def workers(self, count: int = 1) -> Iterator[list[Child]]:
        """Processes that begin to execute together, once each of them is up."""
        with ExitStack() as stack:
            children = [stack.enter_context(self._child("worker", process)) for process in range(count)]
            for child in children:
                child.begin_work()
            for child in children:
                child.await_work()
                if self.contender.traits.starts_program:
                    child.count_from_now()
            yield children

    @contextmanager
    def worker(self) -> Iterator[Child]:
        """A process that executes."""
        with self.workers() as children:
            yield children[0]

    def client(self) -> Child:
        """A process that adds and doesn't execute."""
        return self._child("client", 0)

    @contextmanager
    def submitter(self, worker: Child) -> Iterator[Child]:
        """The process to add from while *worker* runs: another one, where the contender allows it."""
        if self.contender.traits.adds_only_in_worker:
            yield worker
        else:
            with self.client() as client:
                yield client

    def preload(self, count: int) -> None:
        """Store *count* jobs that are due at once, with nobody working."""
        with self.client() as client:
            client.ask("add_all", first=0, count=count)

    def _child(self, role: str, process: int) -> Child:
        program = self.contender.traits.program or (sys.executable, "-m", f"benchmarks.contenders.{self.name}")
        return Child(program, role, place=self.place(process), hits=self.hits.path)
