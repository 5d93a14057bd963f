"""What a setting is: a field of `Settings` that knows its variables, its flag and how it is read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

from mainspring.wiring.kinds import Kind

T = TypeVar("T")

PREFIX = "MAINSPRING_"
MASK = "***"
_UNITS = (timedelta(weeks=1), timedelta(seconds=1), timedelta(milliseconds=1))

_PASSWORD = re.compile(r"(://[^/?#:@]*:)[^?#]*(?=@)|([?&]password=)[^&#]*", re.IGNORECASE)
"""Up to the last @, because people forget to escape one; or as a parameter, as PostgreSQL's own tools take it."""


class Part(StrEnum):
    """What a setting is for; commands take the flags of the parts that they use."""

    STORE = "store"
    HTTP = "http"
    WORKER = "worker"
    SCHEDULER = "scheduler"
    LOG = "log"
    TRACES = "traces"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is known about a setting besides its value."""

    name: str
    part: Part
    kind: Kind[Any]
    help: str
    variables: Mapping[str, Kind[Any]]
    """Where it is looked for, in this order, and how each is read."""
    secret: bool

    @property
    def flag(self) -> str:
        """The command line's name for it."""
        return "--" + next(iter(self.variables)).removeprefix(PREFIX).lower().replace("_", "-")

    def shown(self, value: Any) -> str:
        """The value as one would write it, and as it may be shown to anybody."""
        if self.secret and value:
            return MASK
        return without_password(written(value, self.kind))


def setting(
    part: Part,
    kind: Kind[T],
    default: T,
    variable: str,
    help: str,  # noqa: A002 - it reads like the help that it is
    *,
    aliases: Mapping[str, Kind[T]] | None = None,
    secret: bool = False,
) -> T:
    """A field for the table; *variable* lacks the prefix. Aliases are asked after it, each read by its own kind."""
    variables = MappingProxyType({PREFIX + variable: kind, **(aliases or {})})
    described = {"part": part, "kind": kind, "help": help, "variables": variables, "secret": secret}
    value: T = field(default=default, metadata=described)
    return value


def settings_of(table: type) -> tuple[Setting, ...]:
    """Every setting of a dataclass, in its order."""
    return tuple(Setting(name=each.name, **each.metadata) for each in fields(table) if each.metadata)


def written(value: Any, kind: Kind[Any]) -> str:
    """The text that reads as *value*: what one would write into a variable."""
    match value:
        case bool():
            return "1" if value else "0"
        case timedelta():
            texts = [f"{value / unit:.15g}" for unit in _UNITS]
            # The kind alone knows its unit: the text is right that it reads as the value.
            return next((text for text in texts if _reads_as(value, text, kind)), str(value))
        case tuple():
            return ",".join(written(each, kind) for each in value)
        case _:
            return str(value)


def _reads_as(value: Any, text: str, kind: Kind[Any]) -> bool:
    try:
        return bool(kind.read(text) == value)
    except ValueError:
        return False


def without_password(url: str) -> str:
    """A URL as it may be shown to anybody; other texts stay as they are."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}{MASK}", url)
