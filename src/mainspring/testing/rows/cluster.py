"""Nodes that agree on no more than they must: what a wide-column store may show, at its weakest.

Replicas aren't modelled, only what their quorums can answer:

- A plain write that was acknowledged is seen by every read. One that wasn't is *hazy*: each read sees it or doesn't,
  until it has landed everywhere, with the timestamp that it was given when it was sent.
- A conditional batch whose answer nobody hears was decided and is known everywhere, or is decided and hazy, or is left
  open. The next conditional batch or settled read of the partition finishes what is decided, and finishes an open one
  or rules it out for ever, as Paxos does; plain reads decide nothing. Both also repair whatever hazy writes they see,
  so that what a condition was compared with doesn't go away again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mainspring.adapters.cassandra.rows import Change, Key, Row, Span
from mainspring.adapters.cassandra.table import Table
from mainspring.testing.rows.cells import ORIGINAL, Partition
from mainspring.testing.rows.dictionary import whole

Chance = Callable[[], float]
"""A number in [0, 1)."""

_EVEN = 0.5


class Mutation(Protocol):
    """Something that one or some nodes have, and others may not."""

    def apply(self, partition: Partition) -> None:
        """Make *partition* that of a node that has it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A row, written plainly."""

    key: Key
    values: Row
    at: int

    def apply(self, partition: Partition) -> None:
        """As an insert."""
        partition.write(self.key, self.values, at=self.at, insert=True)


@dataclass(frozen=True, slots=True, eq=False)
class Deleted:
    """A range, deleted plainly."""

    span: Span
    at: int

    def apply(self, partition: Partition) -> None:
        """As a tombstone."""
        partition.delete(self.span, at=self.at)


@dataclass(slots=True, eq=False)
class Round:
    """A conditional batch whose conditions held, and whose proposer hasn't told everybody."""

    changes: Sequence[Change]
    before: Sequence[Row | None]
    """The rows that it changes, as they were compared."""
    ballot: int
    origin: object
    decided: bool = False

    def apply(self, partition: Partition) -> None:
        """With its ballot as the timestamp."""
        partition.apply(self.changes, at=self.ballot)


class Witness(Protocol):
    """Somebody who learns at once what no process can know: what came to be, and by whose doing."""

    def written(self, table: Table, partition: Key, write: Written, origin: object) -> None:
        """A plain write has reached its first node."""
        ...

    def vanished(self, table: Table, partition: Key, write: Written) -> None:
        """A plain write that nobody ever acknowledged is gone for good, and its row with it."""
        ...

    def decided(self, table: Table, partition: Key, decided: "Round") -> None:
        """A conditional batch has been decided."""
        ...


@dataclass(slots=True)
class Home:
    """A partition: what everybody knows, what only some do, and the round that is open."""

    table: Table
    key: Key
    firm: Partition
    hazy: list[Mutation] = field(default_factory=list)
    round: Round | None = None
    ballot: int = ORIGINAL
    _read: dict[Span, Sequence[Row]] = field(default_factory=dict)
    _read_at: int = -1

    def slice(self, view: Partition, span: Span) -> Sequence[Row]:
        """The rows in *span* with their keys; whoever polls what doesn't change is given the same again."""
        if view is not self.firm:
            return self._slice(view, span)
        if self._read_at != view.version:
            self._read.clear()
            self._read_at = view.version
        if span not in self._read:
            self._read[span] = self._slice(view, span)
        return self._read[span]

    def _slice(self, view: Partition, span: Span) -> Sequence[Row]:
        return [whole(self.table, self.key, key, row) for key, row in view.read(span)]


class Cluster:
    """All partitions of all tables, and the luck of everybody who asks for them."""

    def __init__(self, chance: Chance, witness: Witness | None = None) -> None:
        self.witness = witness
        self._chance = chance
        self._homes: dict[tuple[str, Key], Home] = {}

    def home(self, table: Table, partition: Key) -> Home:
        """One partition, empty if nothing was ever written to it."""
        found = self._homes.get((table.name, partition))
        if found is None:
            assert len(partition) == len(table.partition), f"{table.name} is partitioned by {tuple(table.partition)}"
            found = self._homes[table.name, partition] = Home(table, partition, Partition(table))
        return found

    def homes(self, table: Table) -> Iterable[Home]:
        """Every partition of a table, in the order in which they came to be."""
        return [home for home in self._homes.values() if home.table is table]

    def see(self, home: Home) -> Partition:
        """What a quorum answers to a plain read: all that is firm, and of the rest what its nodes happen to have."""
        seen = [mutation for mutation in home.hazy if self._chance() < _EVEN]
        if home.round is not None and home.round.decided and self._chance() < _EVEN:
            seen.append(home.round)
        if not seen:
            return home.firm
        view = home.firm.copy()
        for mutation in seen:
            mutation.apply(view)
        return view

    def settle(self, home: Home) -> Partition:
        """Finish the round that is open, or rule it out; then what a quorum answers, which all others will, too."""
        pending = home.round
        if pending is not None:
            home.round = pending if pending.decided or self._chance() < _EVEN else None
            self.finish(home, pending)
        for mutation in [mutation for mutation in home.hazy if self._chance() < _EVEN]:
            self.land(home, mutation)
        return home.firm

    def finish(self, home: Home, pending: Round) -> None:
        """Tell everybody of a round, unless it was ruled out before."""
        if home.round is not pending:
            return
        self._decide(home, pending)
        pending.apply(home.firm)
        home.round = None

    def write(self, home: Home, mutation: Mutation, origin: object, *, heard: bool) -> bool:
        """Take a plain write; if nobody hears the answer, it may stay hazy. Whether it is."""
        if isinstance(mutation, Written) and self.witness is not None:
            self.witness.written(home.table, home.key, mutation, origin)
        if heard or self._chance() < _EVEN:
            mutation.apply(home.firm)
            return False
        home.hazy.append(mutation)
        return True

    def land(self, home: Home, mutation: Mutation) -> None:
        """Let a hazy write reach the last node."""
        if mutation in home.hazy:
            home.hazy.remove(mutation)
            mutation.apply(home.firm)

    def repair(self) -> None:
        """Let nothing be hazy any more: what nobody acknowledged reaches the last node, or its only one was lost."""
        for home in self._homes.values():
            lost = [mutation for mutation in home.hazy if self._chance() < _EVEN]
            for mutation in [mutation for mutation in home.hazy if mutation not in lost]:
                self.land(home, mutation)
            home.hazy.clear()
            if home.round is not None and home.round.decided:
                self.finish(home, home.round)
            for mutation in lost:
                if isinstance(mutation, Written) and self.witness is not None and home.firm.row(mutation.key) is None:
                    self.witness.vanished(home.table, home.key, mutation)

    def propose(
        self, home: Home, changes: Sequence[Change], now: int, origin: object, *, heard: bool
    ) -> Partition | Round | None:
        """Begin a conditional batch: None once it is known everywhere, or what a quorum shows if a condition fails.

        If nobody hears the answer, it may be left behind as an open round.
        """
        view = self.settle(home)
        if not view.holds(changes):
            return view
        home.ballot = max(home.ballot + 1, now)
        before = [view.row(change.key) for change in changes]
        pending = home.round = Round(changes, before, home.ballot, origin)
        luck = 0.0 if heard else 3 * self._chance()
        if luck < 1:
            self.finish(home, pending)
            return None
        if luck < 2:
            self._decide(home, pending)
        return pending

    def _decide(self, home: Home, pending: Round) -> None:
        if not pending.decided:
            pending.decided = True
            if self.witness is not None:
                self.witness.decided(home.table, home.key, pending)
