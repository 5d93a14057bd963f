"""From JSON to the models: strict about what a field must be, tolerant of fields that aren't known here."""

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, Union
from uuid import UUID

from mainspring.client.errors import UnexpectedAnswer

T = TypeVar("T")
Read = Callable[[Any], Any]
_Plan = tuple[tuple[str, str, Read, bool], ...]

MILLISECOND = timedelta(milliseconds=1)
_PLANS: dict[type[Any], _Plan] = {}
"""Made once per model."""


def read(kind: type[T], value: Any) -> T:
    """A *kind* from parsed JSON, or UnexpectedAnswer with the field that is missing or wrong."""
    if not isinstance(value, Mapping):
        raise UnexpectedAnswer(f"the answer should be a {kind.__name__}, but is {type(value).__name__}")
    found: dict[str, Any] = {}
    for name, wire, reader, required in _plan(kind):
        if wire in value:
            try:
                found[name] = reader(value[wire])
            except (TypeError, ValueError) as error:
                raise UnexpectedAnswer(f"{wire!r} of the {kind.__name__} in the answer: {error}") from None
        elif required:
            raise UnexpectedAnswer(f"the {kind.__name__} in the answer has no {wire!r}")
    return kind(**found)


def _plan(kind: type[Any]) -> _Plan:
    """Per field: its name, its name on the wire, what reads it, and whether it must be there."""
    if kind not in _PLANS:
        _PLANS[kind] = _made_plan(kind)
    return _PLANS[kind]


def _made_plan(kind: type[Any]) -> _Plan:
    hints = typing.get_type_hints(kind)
    return tuple(
        (each.name, wire_name(each.name, hints[each.name]), _reader(hints[each.name]), _required(each))
        for each in fields(kind)
    )


def wire_name(name: str, hint: Any) -> str:
    """Durations carry their unit on the wire."""
    return f"{name}_ms" if timedelta in (hint, *typing.get_args(hint)) else name


def _required(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _reader(hint: Any) -> Read:
    origin = typing.get_origin(hint)
    if hint is Any or origin is Mapping or hint is Mapping:
        return lambda value: value
    if origin in (Union, types.UnionType):
        (inner,) = (each for each in typing.get_args(hint) if each is not type(None))
        reader = _reader(inner)
        return lambda value: None if value is None else reader(value)
    if origin is tuple:
        reader = _reader(typing.get_args(hint)[0])
        return lambda value: tuple(reader(each) for each in _of(list, value))
    if is_dataclass(hint) and isinstance(hint, type):
        return lambda value: read(hint, value)
    return _SIMPLE[hint]


def _of(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"expected {kind.__name__}, got {value!r}")
    return value


def read_instant(value: Any) -> datetime:
    """An instant with its offset; ValueError for anything else."""
    moment = datetime.fromisoformat(_of(str, value))
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} has no offset")
    return moment.astimezone(UTC)


def _number(value: Any) -> float:
    return float(_of(int, value) if isinstance(value, int) else _of(float, value))


_SIMPLE: Mapping[Any, Read] = {
    str: lambda value: _of(str, value),
    int: lambda value: _of(int, value),
    bool: lambda value: _of(bool, value),
    float: _number,
    UUID: lambda value: UUID(_of(str, value)),
    datetime: read_instant,
    timedelta: lambda value: _number(value) * MILLISECOND,
}
