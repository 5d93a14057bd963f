"""A store in plain dictionaries: the ports' contracts in their simplest form, and the oracle for model-based tests.

Every verb runs without waiting for anything, so that on one event loop each is one atomic step. Nothing is fast, and
nothing is durable.
"""

from mainspring.testing.model.journal import MemoryJournal
from mainspring.testing.model.store import MemoryStore

__all__ = ["MemoryJournal", "MemoryStore"]
