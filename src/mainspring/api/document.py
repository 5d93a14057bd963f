"""JSON as it was written: reading an object member by member with each value's own text, and writing such texts back.

A payload is kept byte for byte, so it must never pass through a parser and a printer: numbers would lose digits and
objects their order. Reading is strict: what two parsers could understand in two ways is refused.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from mainspring.errors import Invalid

MAX_DEPTH = 64
"""How deeply arrays and objects may be nested."""

_NAME = re.compile(r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_BLANK = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Raw:
    """A value that is JSON text already."""

    text: bytes


class Member(NamedTuple):
    """One member of an object: its value, and the text that it was."""

    value: Any
    text: str


Members = Mapping[str, Member]
Found = TypeVar("Found")


def read_object(data: bytes) -> Members:
    """The members of a JSON object; Invalid if it isn't one, or isn't strict."""
    return _read(data, lambda reader: reader.object())


def read_objects(data: bytes, name: str, most: int) -> Sequence[Members]:
    """The objects of the array that is the only member, *name*, of an object; Invalid if there are more than *most*."""
    return _read(data, lambda reader: reader.only_array(name, most))


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
            return b"{" + b",".join(_members(value)) + b"}"
        case list():
            return b"[" + b",".join(map(write_json, value)) + b"]"
        case _:
            raise TypeError(f"{type(value).__name__} can't be written as JSON")


def _members(value: dict[str, Any]) -> Sequence[bytes]:
    """Members as texts; neighbours that are no raw texts are written together, which is faster."""
    parts: list[bytes] = []
    plain: dict[str, Any] = {}
    for name, each in value.items():
        if isinstance(each, Raw | list):
            if plain:
                parts.append(write_json(plain)[1:-1])
                plain = {}
            parts.append(_ENCODE(name).encode() + b":" + write_json(each))
        else:
            plain[name] = each
    if plain:
        parts.append(write_json(plain)[1:-1] if len(plain) < len(value) else _one_by_one(plain))
    return parts


def _one_by_one(value: dict[str, Any]) -> bytes:
    return b",".join(_ENCODE(name).encode() + b":" + write_json(each) for name, each in value.items())


def _read(data: bytes, how: Callable[["_Reader"], Found]) -> Found:
    try:
        reader = _Reader(data.decode("utf-8").removeprefix("\ufeff"))
        found = how(reader)
        reader.expect_the_end()
        return found
    except RecursionError:
        raise Invalid(f"the JSON is nested more than {MAX_DEPTH} levels deep") from None
    except UnicodeDecodeError as error:
        raise Invalid(f"the body isn't JSON: byte {error.start} isn't UTF-8") from None
    except ValueError as error:
        raise Invalid(f"the body isn't JSON: {_readable(error)}") from None


def _readable(error: ValueError) -> str:
    text = str(error)
    return "an integer has too many digits" if "integer string conversion" in text else text


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._depth = 0
        self._escaped = _SURROGATE.search(text) is not None

    def expect_the_end(self) -> None:
        if self._peek():
            raise ValueError("something follows the object")

    def object(self) -> dict[str, Member]:
        members: dict[str, Member] = {}
        self._open("{")
        while self._another("}", first=not members):
            name = self._name()
            if name in members:
                raise ValueError(f"{name!r} stands in it twice")
            members[name] = self._value()
        return members

    def only_array(self, name: str, most: int) -> list[dict[str, Member]]:
        found: list[dict[str, Member]] | None = None
        self._open("{")
        while self._another("}", first=found is None):
            given = self._name()
            if given != name:
                raise Invalid(f"there is no such field; send {name!r} alone", field=given)
            if found is not None:
                raise ValueError(f"{name!r} stands in it twice")
            found = self._array(name, most)
        if found is None:
            raise Invalid(f"{name!r} is missing", field=name)
        return found

    def _array(self, name: str, most: int) -> list[dict[str, Member]]:
        found: list[dict[str, Member]] = []
        if self._peek() != "[":
            raise Invalid("must be an array of objects", field=name)
        self._open("[")
        while self._another("]", first=not found):
            if len(found) == most:
                raise Invalid(f"at most {most} at once; send them in several requests", field=name)
            if self._peek() != "{":
                raise Invalid("must be an object", field=f"{name}.{len(found)}")
            found.append(self.object())
        return found

    def _name(self) -> str:
        match = _NAME.match(self._text, self._position)
        if match is not None:
            self._position = match.end()
            return match[1]
        if self._peek() != '"':
            raise ValueError(f"a name is missing at position {self._position}")
        name: str = self._value().value
        self._expect(":")
        self._peek()
        return name

    def _value(self) -> Member:
        start = self._position
        value, end = _DECODE(self._text, start)
        self._position = end
        text = self._text[start:end]
        if text.count("[") + text.count("{") + self._depth > MAX_DEPTH and _depth(text) + self._depth > MAX_DEPTH:
            raise RecursionError
        if self._escaped:
            _refuse_lone_surrogates(value)
        return Member(value, text)

    def _open(self, bracket: str) -> None:
        self._expect(bracket)
        self._depth += 1

    def _another(self, bracket: str, *, first: bool) -> bool:
        """Whether one more follows; if not, the closing *bracket* has been passed."""
        found = self._peek()
        if found == bracket:
            self._position += 1
            self._depth -= 1
            return False
        if not first:
            self._expect(",")
            self._peek()
        return True

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise ValueError(f"{character!r} is missing at position {self._position}")
        self._position += 1

    def _peek(self) -> str:
        blank = _BLANK.match(self._text, self._position)
        if blank is not None:
            self._position = blank.end()
        return self._text[self._position : self._position + 1]


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


_DECODE = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse).raw_decode
