"""Payloads, checked field by field. Pure.

Whatever is wrong becomes an `Abandon` that says what would be right: a payload doesn't get better by trying again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mainspring.worker.flow import Abandon


def require_text(name: str, value: Any) -> str:
    """The value, if it is text that a program or a header can be given."""
    if not isinstance(value, str):
        raise wrong(name, "must be a string", value)
    if "\0" in value or not _encodable(value):
        raise Abandon(f"{name}: must be valid Unicode without NUL characters")
    return value


def wrong(name: str, expectation: str, value: Any) -> Abandon:
    """The refusal of a field; it names the kind of what was given, never the value, which may be a secret."""
    return Abandon(f"{name}: {expectation}, not {_kind(value)}")


class Fields:
    """The fields of an object; none beyond *names* may be there, and null is taken as absent."""

    def __init__(self, payload: Any, *names: str) -> None:
        given = {} if payload is None else payload
        if not isinstance(given, dict):
            raise wrong("payload", f"must be an object with {', '.join(names)}", payload)
        for name in given:
            if name not in names:
                raise Abandon(f"{str(name)[:100]}: there is no such field; the payload takes {', '.join(names)}")
        self._given: dict[str, Any] = given

    def has(self, name: str) -> bool:
        """Whether the field was given, be it null."""
        return name in self._given

    def raw(self, name: str) -> Any:
        """The field as it is, or None."""
        return self._given.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        """A string; without a *default* it must be there and not be empty."""
        value = self.raw(name)
        if value is None and default is not None:
            return default
        if value is None or (value == "" and default is None):
            raise Abandon(f"{name}: is missing; it must be a string that isn't empty")
        return require_text(name, value)

    def optional_text(self, name: str) -> str | None:
        """A string that isn't empty, or None."""
        return None if self.raw(name) is None else self.text(name)

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        """A number from *low* to *high*."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong(name, f"must be a number from {low:g} to {high:g}", value)
        if not low <= value <= high:
            raise Abandon(f"{name}: must be from {low:g} to {high:g}")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise wrong(name, "must be true or false", value)
        return value

    def texts(self, name: str) -> Sequence[str]:
        """A list of strings, empty if absent."""
        value = self.raw(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise wrong(name, "must be a list of strings", value)
        return tuple(require_text(f"{name}[{index}]", item) for index, item in enumerate(value))

    def mapping(self, name: str) -> Mapping[str, str]:
        """An object whose values are strings, empty if absent."""
        value = self.raw(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise wrong(name, "must be an object of strings", value)
        return {require_text(name, key): require_text(f"{name}.{key}", item) for key, item in value.items()}


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: Any) -> str:
    kinds = {bool: "a boolean", str: "a string", dict: "an object", list: "a list", type(None): "null"}
    return kinds.get(type(value), "a number")
