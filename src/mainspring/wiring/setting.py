"""What a setting is: a field of `Settings` that knows its variables, its flag and how it is read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

from mainspring.wiring.kinds import Kind

T = TypeVar("T")

PREFIX = "MAINSPRING_"
MASK = "***"

_PASSWORD = re.compile(r"(://[^/?#:@]*:)[^?#]*(?=@)|([?&]password=)[^&#]*", re.IGNORECASE)
"""Up to the last @, because people forget to escape one; or as a parameter, as PostgreSQL's own tools take it."""


class Part(StrEnum):
    """What a setting is for; commands take the flags of the parts that they use."""

    STORE = "store"
    HTTP = "http"
    WORKER = "worker"
    SCHEDULER = "scheduler"
    LOG = "log"


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
        """The value as it may be shown to anybody."""
        if self.secret and value:
            return MASK
        return repr(without_password(value) if isinstance(value, str) else value)


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


def without_password(url: str) -> str:
    """A URL as it may be shown to anybody; other texts stay as they are."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}{MASK}", url)
