"""The kinds of values that a setting can have: how each is read from text, and how to say what is allowed."""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Generic, TypeVar

from mainspring.api.access import GivenKey
from mainspring.api.keys import LONGEST, SHORTEST

T = TypeVar("T")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

STORE = "store"
"""In place of the URL of something beside the store."""

DIRECT = "direct"
"""In place of the URL of a broker: through the store alone."""

_HOST_NAME = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[T]):
    """Reads one kind of value; *read* raises ValueError for a text that isn't of the allowed *form*."""

    form: str
    read: Callable[[str], T]
    switch: bool = False
    """Whether a flag of this kind stands alone: `--allow-shell`."""
    many: bool = False
    """Whether a flag of this kind can be repeated; in the environment, commas stand between the values."""


def number(low: int, high: int) -> Kind[int]:
    """Whole numbers from *low* to *high*."""

    def read(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise ValueError(text)
        return value

    return Kind(form=f"a whole number from {low} to {high}", read=read)


def choice(*words: str) -> Kind[str]:
    """One of some words, in any case."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(text)
        return text.lower()

    return Kind(form=f"one of {', '.join(words)}", read=read)


def several(kind: Kind[T]) -> Kind[tuple[T, ...]]:
    """Any number of values of a kind."""

    def read(text: str) -> tuple[T, ...]:
        return tuple(kind.read(part.strip()) for part in text.split(",") if part.strip())

    return Kind(form=f"{kind.form}, or several with commas between them", read=read, many=True)


def duration(unit: timedelta, name: str) -> Kind[timedelta]:
    """A positive number of some unit, at most a hundred years."""

    def read(text: str) -> timedelta:
        value = float(text) * unit
        if not timedelta(0) < value < timedelta(days=36_525):
            raise ValueError(text)
        return value

    return Kind(form=f"a positive number of {name}", read=_without_overflow(read))


def _without_overflow(read: Callable[[str], T]) -> Callable[[str], T]:
    def guarded(text: str) -> T:
        try:
            return read(text)
        except OverflowError as error:
            raise ValueError(text) from error

    return guarded


def _read_text(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text.strip()


def _read_name(text: str) -> str:
    if not text or len(text) > 100 or not all(part.isalnum() or part in "-_." for part in text):  # noqa: PLR2004 - the form says so
        raise ValueError(text)
    return text


def _read_host_name(text: str) -> str:
    name = text.strip().lower()
    if not _HOST_NAME.fullmatch(name):
        raise ValueError(text)
    return name.strip("[]")


def _read_coordinator(text: str) -> str:
    url = text.strip()
    if url.lower() == STORE:
        return STORE
    if not url.lower().startswith(("redis://", "rediss://")):
        raise ValueError(text)
    return url


def _read_broker(text: str) -> str:
    url = text.strip()
    if url.lower() == DIRECT:
        return DIRECT
    if not url.lower().startswith(("redis://", "rediss://")):
        raise ValueError(text)
    return url


def _read_switch(text: str) -> bool:
    word = text.strip().lower()
    if word not in _YES | _NO:
        raise ValueError(text)
    return word in _YES


def _read_owner_key(text: str) -> GivenKey:
    owner, colon, key = text.partition(":")
    if not colon or not 0 < len(owner) <= 200 or not SHORTEST <= len(key) <= LONGEST or not key.isascii():  # noqa: PLR2004 - the form says so
        raise ValueError(text)
    return GivenKey(owner, key)


TEXT = Kind(form="a text that isn't empty", read=_read_text)
SCYLLA_HOSTS = Kind(
    form="hosts with commas between them", read=lambda text: f"scylla://{_read_text(text).replace(' ', '')}/scheduler"
)
COORDINATOR = Kind(form=f"{STORE}, or a URL like redis://host:6379/0", read=_read_coordinator)
BROKER = Kind(form=f"{DIRECT}, or a URL like redis://host:6379/0", read=_read_broker)
NAME = Kind(form="up to 100 letters, digits, '-', '_' and '.'", read=_read_name)
HOST_NAME = Kind(form="a host's name or address without its port, IPv6 in brackets", read=_read_host_name)
FOLDER = Kind(form="the path of a folder", read=lambda text: Path(_read_text(text)).expanduser())
SWITCH = Kind(form="1 or 0, yes or no", read=_read_switch, switch=True)
PORT = number(0, 65_535)
SECONDS = duration(timedelta(seconds=1), "seconds")
MILLISECONDS = duration(timedelta(milliseconds=1), "milliseconds")
WEEKS = duration(timedelta(weeks=1), "weeks")
OWNER_KEY = Kind(
    form=f"owner:key, with an owner of at most 200 characters and a key of {SHORTEST} to {LONGEST}",
    read=_read_owner_key,
)
NETWORK: Kind[Network] = Kind(form="a network like 10.0.0.0/8", read=lambda text: ipaddress.ip_network(text.strip()))
