"""Records of which a worker makes tens of thousands a second."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def hot(cls: type[T]) -> type[T]:
    """A dataclass that is frozen for the type checker alone: a frozen one takes three times as long to make."""
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)
