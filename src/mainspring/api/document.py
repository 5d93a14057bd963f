"""JSON as it was written: reading an object member by member with each value's own text, and writing such texts back.

A payload is kept byte for byte, so it must never pass through a parser and a printer: numbers would lose digits and
objects their order.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mainspring.errors import Invalid

_BLANK = " \t\n\r"


@dataclass(frozen=True, slots=True)
class Raw:
    """A value that is JSON text already."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object: its value, and the text that it was."""

    value: Any
    text: str


def read_object(data: bytes) -> Mapping[str, Member]:
    """The members of a JSON object; Invalid if it isn't one, or names a member twice."""
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
        return _Reader(text).object()
    except RecursionError:
        raise Invalid("the JSON is nested too deeply") from None
    except ValueError as error:
        raise Invalid(f"the body isn't JSON: {error}") from None


def write_json(value: Any) -> bytes:
    """JSON text in which every `Raw` stands as it is."""
    match value:
        case Raw(text=text):
            return text
        case dict():
            return b"{" + b",".join(write_json(name) + b":" + write_json(each) for name, each in value.items()) + b"}"
        case list():
            return b"[" + b",".join(map(write_json, value)) + b"]"
        case _:
            return json.dumps(value, ensure_ascii=False).encode()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._decoder = json.JSONDecoder(parse_constant=_refuse)

    def object(self) -> dict[str, Member]:
        members: dict[str, Member] = {}
        self._expect("{")
        while self._peek() != "}":
            if members:
                self._expect(",")
            name, member = self._member()
            if name in members:
                raise ValueError(f"{name!r} stands in it twice")
            members[name] = member
        self._expect("}")
        if self._peek():
            raise ValueError("something follows the object")
        return members

    def _member(self) -> tuple[str, Member]:
        if self._peek() != '"':
            raise ValueError(f"a name is missing at position {self._position}")
        name, self._position = self._decoder.raw_decode(self._text, self._position)
        self._expect(":")
        self._peek()
        start = self._position
        value, self._position = self._decoder.raw_decode(self._text, start)
        return name, Member(value, self._text[start : self._position])

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise ValueError(f"{character!r} is missing at position {self._position}")
        self._position += 1

    def _peek(self) -> str:
        while self._position < len(self._text) and self._text[self._position] in _BLANK:
            self._position += 1
        return self._text[self._position : self._position + 1]


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} isn't a JSON number")
