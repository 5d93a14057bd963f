"""Exact figures at no cost: every verb that changes a state adds to the totals in its own transaction."""

from collections import Counter

from mainspring.adapters.sqlite.engine import Transaction
from mainspring.adapters.sqlite.rows import dump
from mainspring.adapters.sqlite.statements import load

Totals = Counter[tuple[str, str, int, str]]
"""(owner, lane, kind, what) → how many."""


def add_totals(transaction: Transaction, totals: Totals) -> None:
    """Add to what is stored."""
    if totals:
        rows = [[*group, amount] for group, amount in totals.items()]
        transaction.execute(load("work")["add_totals"], dump(rows))
