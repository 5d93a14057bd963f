"""What an ablation is: a safeguard that is taken away for the time of a block; nothing in the product knows of it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

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
