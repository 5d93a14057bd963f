"""`Rows` over a cluster at its weakest, for one process: every request may be lost, late or unheard."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from mainspring.adapters.cassandra.rows import ALL, Change, Key, Put, Row, Span, UnknownOutcome
from mainspring.adapters.cassandra.table import Table
from mainspring.errors import StoreUnavailable
from mainspring.ports.time import Clock
from mainspring.testing.rows.cells import ORIGINAL, Partition
from mainspring.testing.rows.cluster import Cluster, Deleted, Home, Mutation, Round, Written
from mainspring.testing.rows.dictionary import check, split, whole

_MICROSECONDS = 1_000_000


class Unheard(StoreUnavailable):
    """No answer came: whatever was asked for may have been done, or may be done yet."""


class Request(NamedTuple):
    """Something to do once it has arrived, given whether its answer will be heard."""

    carry_out: Callable[[bool], Any]
    conditional: bool = False
    """Then its coordinator drops it before its sender gives up: it never begins later than that."""


class Messenger(Protocol):
    """The way to the cluster and back."""

    async def carry(self, requests: Sequence[Request]) -> Sequence[Any]:
        """Send all at once and return their answers.

        Raises Unheard if one is missing, StoreUnavailable if one wasn't carried out.
        """
        ...

    def later(self, callback: Callable[[], None]) -> None:
        """Call back after a while, or never."""
        ...

    def now(self) -> int:
        """A coordinator's clock, in microseconds."""
        ...


class WeakRows:
    """What one process sees of a cluster. Plain writes carry that process's time, conditional ones their ballots."""

    def __init__(
        self, cluster: Cluster, messenger: Messenger, clock: Clock, origin: Callable[[], object] = lambda: None
    ) -> None:
        self._cluster = cluster
        self._messenger = messenger
        self._clock = clock
        self._origin = origin
        """On whose behalf a request is sent, for the cluster's witness."""
        self._last = ORIGINAL

    async def get(
        self, table: Table, partition: Key, keys: Sequence[Key] = ((),), *, settled: bool = False
    ) -> Sequence[Row]:
        """The rows of *partition* that exist among *keys*, in the order of their keys."""
        home = self._cluster.home(table, partition)

        def carry_out(_heard: bool) -> Sequence[Row]:
            view = self._cluster.settle(home) if settled else self._cluster.see(home)
            return _rows(home, view, keys)

        answer: Sequence[Row] = await self._ask(Request(carry_out))
        return answer

    async def slice(
        self, table: Table, partition: Key, span: Span = ALL, *, limit: int, backwards: bool = False
    ) -> Sequence[Row]:
        """The first (or last, then backwards) rows of *partition* in *span*."""
        home = self._cluster.home(table, partition)

        def carry_out(_heard: bool) -> Sequence[Row]:
            found = home.slice(self._cluster.see(home), span)
            return found[: -limit - 1 : -1] if backwards else found[:limit]

        answer: Sequence[Row] = await self._ask(Request(carry_out))
        return answer

    async def put(self, puts: Sequence[Put]) -> None:
        """Write rows plainly, each with a fate of its own."""
        requests = []
        for put in puts:
            check(put)
            partition, key, values = split(put)
            at = self._time_of(put)
            requests.append(self._write(self._cluster.home(put.table, partition), Written(key, values, at)))
        if requests:
            await self._messenger.carry(requests)

    async def cas_batch(self, table: Table, partition: Key, changes: Sequence[Change]) -> Sequence[Row] | None:
        """Apply all *changes* if all their conditions hold, and return None; else the rows as they are."""
        home, origin = self._cluster.home(table, partition), self._origin()

        def carry_out(heard: bool) -> Sequence[Row] | None:
            outcome = self._cluster.propose(home, changes, self._messenger.now(), origin, heard=heard)
            if isinstance(outcome, Round):
                self._messenger.later(lambda: self._cluster.finish(home, outcome))
            return _rows(home, outcome, [change.key for change in changes]) if isinstance(outcome, Partition) else None

        try:
            answer: Sequence[Row] | None = await self._ask(Request(carry_out, conditional=True))
        except Unheard as error:
            raise UnknownOutcome(*error.args) from error
        return answer

    async def delete_range(self, table: Table, partition: Key, span: Span = ALL, *, until: int | None = None) -> None:
        """Remove all rows in *span*."""
        deleted = Deleted(span, self._stamp() if until is None else until)
        await self._ask(self._write(self._cluster.home(table, partition), deleted))

    async def _ask(self, request: Request) -> Any:
        [answer] = await self._messenger.carry([request])
        return answer

    def _write(self, home: Home, mutation: Mutation) -> Request:
        origin = self._origin()

        def carry_out(heard: bool) -> None:
            if self._cluster.write(home, mutation, origin, heard=heard):
                self._messenger.later(lambda: self._cluster.land(home, mutation))

        return Request(carry_out)

    def _time_of(self, put: Put) -> int:
        return ORIGINAL if put.original else self._stamp()

    def _stamp(self) -> int:
        """Drivers never give the same timestamp twice."""
        self._last = max(self._last + 1, int(self._clock.now().timestamp() * _MICROSECONDS))
        return self._last


def _rows(home: Home, view: Partition, keys: Sequence[Key]) -> Sequence[Row]:
    return [whole(home.table, home.key, key, row) for key, row in view.rows_of(set(keys))]
