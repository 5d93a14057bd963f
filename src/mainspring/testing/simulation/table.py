"""The page of ablations: what was taken away, which property noticed, after how many schedules."""

from collections.abc import Sequence

from mainspring.testing.simulation.finding import MOST_SEEDS, Found
from mainspring.testing.simulation.judging.properties import PROPERTIES
from mainspring.testing.simulation.storage import Store

_HEAD = f"""\
# Ablations

What proves that the [simulation](../explanation/simulation.md) can see: each row is a defect that was put in on
purpose, the property that noticed it, and how many schedules that took, counted from seed 1. A test looks for every one
of them again and gives up after {MOST_SEEDS} schedules. `mainspring simulate --ablations` shows the same for the code
as it is, and `--write docs/reference/ablations.md` writes this page; the numbers are those of the day it was written,
since any change to the worker or the services deals the cards anew.
"""
_TABLE = """
## On {}

| ablation | what is broken | noticed by | schedules |
|---|---|---|---:|
"""
_TITLES = {
    Store.SQLITE: "SQLite",
    Store.BROKER: "SQLite with a broker",
    Store.CASSANDRA: "Cassandra",
    Store.CASSANDRA_BROKER: "Cassandra with a broker",
}
_MIDDLE = """
## Properties

| number | what must hold |
|---|---|
"""
_FOOT = """
Back to [the reference](index.md).
"""


def page(found: Sequence[Found]) -> str:
    """The whole page."""
    tables = "".join(_table(store, [each for each in found if each.ablation.store is store]) for store in Store)
    return _HEAD + tables + _MIDDLE + "".join(_property(*each) for each in PROPERTIES.items()) + _FOOT


def _table(store: Store, found: Sequence[Found]) -> str:
    return _TABLE.format(_TITLES[store]) + "".join(map(row, found))


def row(found: Found) -> str:
    """One ablation's row."""
    noticed = "**nobody**" if found.violation is None else found.violation.prop
    return f"| `{found.ablation.name}` | {found.ablation.sentence} | {noticed} | {found.seeds} |\n"


def _property(number: str, text: str) -> str:
    return f"| {number} | {text} |\n"
