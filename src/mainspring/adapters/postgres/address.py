"""What a `postgresql://` URL says to us, and what it says to the driver."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mainspring.errors import ConfigurationError

DEFAULT_SCHEMA = "mainspring"
DEFAULT_CONNECTIONS = 5
MOST_CONNECTIONS = 1000

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
_OURS = ("schema", "connections")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the store is: the driver's own URL, the schema that holds the tables, and how many connections to use."""

    url: str
    schema: str = DEFAULT_SCHEMA
    connections: int = DEFAULT_CONNECTIONS
    """The most connections of each kind: for reading, for writing, for the rest. Claims, settlements, looks ahead and
    signals have their own few."""

    @property
    def shown(self) -> str:
        """The address without its password, for messages."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit(("postgresql", host, parts.path, "", ""))


def address(url: str) -> Address:
    """Read a URL such as `postgresql://user@host/database?schema=mainspring&connections=5`."""
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    ours = {name: given.pop(name) for name in _OURS if name in given}
    schema = checked_schema(ours.get("schema", DEFAULT_SCHEMA))
    connections = ours.get("connections", str(DEFAULT_CONNECTIONS))
    if not connections.isascii() or not connections.isdigit() or not 1 <= int(connections) <= MOST_CONNECTIONS:
        raise ConfigurationError(
            f"connections={connections} can't be used: write a number from 1 to {MOST_CONNECTIONS}"
        )
    theirs = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(given), ""))
    return Address(url=theirs, schema=schema, connections=int(connections))


def checked_schema(name: str) -> str:
    """The name, if it can stand in a statement as it is; else ConfigurationError."""
    if not _SCHEMA.fullmatch(name):
        raise ConfigurationError(f"schema={name} can't be used: write small letters, digits and _, 63 at most")
    return name
