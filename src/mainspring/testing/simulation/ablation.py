"""What an ablation is: a safeguard that is taken away for the time of a block; nothing in the product knows of it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from mainspring.adapters.sqlite.statements import load
from mainspring.testing.simulation.storage import Store

Patch = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Ablation:
    """A defect with a name and a sentence; *patch* applies it for the time of a block."""

    name: str
    sentence: str
    patch: Patch
    store: Store = Store.SQLITE
    """The simulation that must find it."""


def method(owner: Any, name: str, substitute: Any) -> Patch:
    """Patches a function or method."""
    return lambda: patch.object(owner, name, substitute)


def statement(file: str, *changes: tuple[str, str, str]) -> Patch:
    """Patches SQL: (statement, text in it, text in its place)."""

    @contextmanager
    def patched() -> Iterator[None]:
        statements = load(file)
        before = dict(statements)
        for name, old, new in changes:
            if old not in statements[name]:
                raise ValueError(f"the statement {name} has no {old!r} any more: mend its ablation")
            statements[name] = statements[name].replace(old, new)
        try:
            yield
        finally:
            statements.update(before)

    return patched
