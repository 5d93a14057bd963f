"""JSON as it was written: reading an object with its payload's own text, and writing such texts back.

A payload is kept byte for byte, so it must never pass through a parser and a printer: numbers would lose digits and
objects their order. Reading is strict: what two parsers could understand in two ways is refused.
"""

import json
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from mainspring.errors import Invalid

MAX_DEPTH = 64
"""How deeply arrays and objects may be nested."""

_KEPT = "payload"
_KEPT_NAME = f'"{_KEPT}"'
_BLANKS = " \t\n\r"
_BLANK = re.compile(r"[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_AFTER = re.compile(r"[ \t\n\r]*([,\]])[ \t\n\r]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Raw:
    """A value that is JSON text already."""

    text: bytes


class Document(NamedTuple):
    """An object's members, and the text of its member `payload` as it was written; None if it has none."""

    fields: dict[str, Any]
    payload: bytes | None
    alike: bool = False
    """Whether it is known to differ from the one before it in nothing but the payload."""


class _Opening(NamedTuple):
    """An object up to the value of its last member, the payload.

    Programs write their objects one like the other; where the same text stands again, it says the same.
    """

    text: str
    fields: dict[str, Any]
    """What it says."""


_Read = tuple[Document, int, _Opening | None]
"""An object, where it ends, and how it began if it ends with its payload."""


def read_object(data: bytes) -> Document:
    """A JSON object; Invalid if it isn't one, or isn't strict."""
    with _faults_told():
        return _the_object(_text(data))


def read_objects(data: bytes, name: str, most: int) -> Iterator[Document]:
    """The objects of the array that is the only member, *name*, of an object, one by one.

    Invalid as soon as something is wrong, or there are more than *most*.
    """
    with _faults_told():
        yield from _the_objects(_text(data), name, most)


def write_json(value: Any) -> bytes:
    """JSON text in which every `Raw` stands as it is."""
    try:
        return _ENCODE(value).encode()
    except TypeError:
        pass  # there is a raw text in it
    match value:
        case Raw(text=text):
            return text
        case dict():
            return b"{" + b",".join(_ENCODE(name).encode() + b":" + write_json(value[name]) for name in value) + b"}"
        case list():
            return b"[" + b",".join(map(write_json, value)) + b"]"
        case _:
            raise TypeError(f"{type(value).__name__} can't be written as JSON")


def _text(data: bytes) -> str:
    return data.decode("utf-8").removeprefix("\ufeff")


@contextmanager
def _faults_told() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise Invalid(f"the JSON is nested more than {MAX_DEPTH} levels deep") from None
    except UnicodeDecodeError as error:
        raise Invalid(f"the body isn't JSON: byte {error.start} isn't UTF-8") from None
    except ValueError as error:
        raise Invalid(f"the body isn't JSON: {_readable(error)}") from None


def _the_object(text: str) -> Document:
    start = _skip(text, 0)
    if _next(text, start) not in ("{", ""):
        raise Invalid("the body must be a JSON object")
    found, end, _ = _object(text, start, MAX_DEPTH)
    _expect_the_end(text, end)
    return found


def _the_objects(text: str, name: str, most: int) -> Iterator[Document]:
    position = _expect("{", text, 0)
    if _next(text, position) == "}":
        raise Invalid("must be an array of objects", field=name)
    given, position = _name(text, position)
    position = _past_colon(text, position)
    if given != name:
        raise Invalid(f"there is no such field; send {name!r} alone", field=given)
    if _next(text, position) != "[":
        raise Invalid("must be an array of objects", field=name)
    position = yield from _array(text, position + 1, name, most)
    if _next(text, position) == ",":
        raise Invalid(f"nothing may follow it; send {name!r} alone and once", field=name)
    _expect_the_end(text, _expect("}", text, position))


def _array(text: str, position: int, name: str, most: int) -> Generator[Document, None, int]:
    """Yield the objects, and return where the array ends."""
    position = _skip(text, position)
    if text[position : position + 1] == "]":
        return position + 1
    opening: _Opening | None = None
    for index in count():
        if index == most:
            raise Invalid(f"at most {most} at once; send them in several requests", field=name)
        if text[position : position + 1] not in ("{", ""):
            raise Invalid("must be an object", field=f"{name}.{index}")
        read = None if opening is None else _alike(text, position, opening)
        document, position, opening = read or _object(text, position, MAX_DEPTH - 2)
        yield document
        after = _AFTER.match(text, position)
        if after is None:
            raise ValueError(f"',' or ']' is missing at position {position}")
        position = after.end()
        if after[1] == "]":
            break
    return position


def _object(text: str, start: int, depth: int) -> _Read:
    """The object that begins at *start*, nested no deeper than *depth*."""
    fields, end = _value(text, start)
    escaped = _refuse_excess(text, start, end, depth, fields)
    if _KEPT not in fields:
        return Document(fields, None), end, None
    # Without escapes, a name that stands there once can only be that of the member.
    plain = not escaped and text.count(_KEPT_NAME, start, end) == 1
    first = _past_colon(text, text.index(_KEPT_NAME, start) + len(_KEPT_NAME)) if plain else _kept_at(text, start)
    if next(reversed(fields)) != _KEPT:
        return Document(fields, text[first : _DECODE(text, first)[1]].encode()), end, None
    opening = _Opening(text[start:first], {name: fields[name] for name in fields if name != _KEPT})
    return Document(fields, text[first : end - 1].rstrip(_BLANKS).encode()), end, opening


def _alike(text: str, start: int, opening: _Opening) -> _Read | None:
    """The object that begins at *start*, if that is all *opening*, a payload and a brace."""
    if not text.startswith(opening.text, start):
        return None
    first = start + len(opening.text)
    value, last = _value(text, first)
    end = _skip(text, last)
    if text[end : end + 1] != "}":
        return None
    _refuse_excess(text, first, last, MAX_DEPTH - 3, value)
    fields = opening.fields.copy()
    fields[_KEPT] = value
    return Document(fields, text[first:last].encode(), True), end + 1, opening


def _value(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at *start*, and where it ends; ValueError if an object has a member twice.

    Asking the decoder for every object's members takes longer than all the rest. There is a colon for each of them:
    where no fewer members than colons are left, none replaced another.
    """
    try:
        value, end = _SCAN(text, start)
    except StopIteration:
        return _DECODE(text, start)  # says what is wrong
    colons = text.count(":", start, end)
    if colons and not (value.__class__ is dict and _members(value) == colons):
        return _DECODE(text, start)
    return value, end


def _members(fields: dict[str, Any]) -> int:
    """How many members an object and its payload have."""
    payload = fields.get(_KEPT)
    return len(fields) + len(payload) if payload.__class__ is dict else len(fields)


def _refuse_excess(text: str, start: int, end: int, depth: int, value: Any) -> bool:
    """Refuse what is nested deeper than *depth*, and halves of characters; whether there are escapes in the text."""
    if text.count("{", start, end) + text.count("[", start, end) > depth and _depth(text[start:end]) > depth:
        raise RecursionError
    escaped = text.find("\\", start, end) >= 0
    if escaped and _SURROGATE.search(text, start, end):
        _refuse_lone_surrogates(value)
    return escaped


def _kept_at(text: str, position: int) -> int:
    """Where the value of the member begins whose text is kept, in an object that has one and was read before."""
    while True:
        name, position = _name(text, position + 1)
        position = _past_colon(text, position)
        if name == _KEPT:
            return position
        position = _skip(text, _DECODE(text, position)[1])


def _name(text: str, position: int) -> tuple[str, int]:
    found: tuple[str, int] = _DECODE(text, _expect('"', text, position) - 1)
    return found


def _past_colon(text: str, position: int) -> int:
    colon = _COLON.match(text, position)
    if colon is None:
        raise ValueError(f"':' is missing at position {position}")
    return colon.end()


def _expect(character: str, text: str, position: int) -> int:
    position = _skip(text, position)
    if text[position : position + 1] != character:
        raise ValueError(f"{character!r} is missing at position {position}")
    return position + 1


def _expect_the_end(text: str, position: int) -> None:
    if _skip(text, position) < len(text):
        raise ValueError("something follows the object")


def _next(text: str, position: int) -> str:
    """The next character that isn't blank; none at the end."""
    position = _skip(text, position)
    return text[position : position + 1]


def _skip(text: str, position: int) -> int:
    blank = _BLANK.match(text, position)
    return position if blank is None else blank.end()


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        if match[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif match[0] in "]}":
            depth -= 1
    return deepest


def _refuse_lone_surrogates(value: Any) -> None:
    try:
        _ENCODE(value).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair isn't a character") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands in it twice")
    return members


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} isn't a JSON number")


def _readable(error: ValueError) -> str:
    text = str(error)
    return "an integer has too many digits" if "integer string conversion" in text else text


_DECODE = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse).raw_decode
_SCAN: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_constant=_refuse).scan_once  # type: ignore[attr-defined]  # it is there, though its types don't say so
