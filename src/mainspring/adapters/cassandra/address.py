"""What a `cassandra://` URL says: which nodes to ask first, which keyspace, how many copies, how to get in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import parse_qsl, unquote, urlsplit

from mainspring.errors import ConfigurationError

DEFAULT_PORT = 9042
DEFAULT_KEYSPACE = "mainspring"
DEFAULT_REPLICATION = 3
DEFAULT_WAIT = timedelta(seconds=60)

_KEYSPACE = re.compile(r"[a-z][a-z0-9_]{0,47}", re.ASCII)
_DATACENTER = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)
_MOST_COPIES = 20
_LONGEST_WAIT = 3600
_EXAMPLE = "cassandra://host1,host2:9042/keyspace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the store is."""

    hosts: tuple[str, ...]
    port: int = DEFAULT_PORT
    keyspace: str = DEFAULT_KEYSPACE
    replication: Mapping[str, int] = field(default_factory=lambda: {"": DEFAULT_REPLICATION})
    """Copies by data centre; under an empty name, for all that there are. Used when the keyspace is made."""
    datacenter: str | None = None
    """The nodes to talk to; others only hold copies."""
    local: bool = False
    """Whether quorums and decisions are made within that data centre alone."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False
    authority: str | None = None
    """A file with the certificates that sign those of the nodes; the system's own unless given."""
    certificate: str | None = None
    """Files with the certificate and the key by which nodes know this program."""
    key: str | None = None
    wait: timedelta = DEFAULT_WAIT
    """How long a cluster may take to answer for the first time, to whoever doesn't wait for ever."""

    @property
    def shown(self) -> str:
        """The address without what is secret, for messages."""
        return f"cassandra://{','.join(self.hosts)}:{self.port}/{self.keyspace}"


def address(url: str) -> Address:
    """Read a URL such as `cassandra://user:password@host1,host2:9042/keyspace?replication=3&datacenter=dc1`."""
    parts = urlsplit(url)
    credentials, _, places = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    hosts, port = _places(places)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    read = Address(
        hosts=hosts,
        port=port,
        keyspace=checked_keyspace(parts.path.strip("/") or DEFAULT_KEYSPACE),
        replication=_replication(given.pop("replication", str(DEFAULT_REPLICATION))),
        datacenter=_datacenter(given.pop("datacenter", None)),
        local=_local(given.pop("consistency", "everywhere")),
        user=unquote(user) or given.pop("user", None),
        password=unquote(password) or given.pop("password", None),
        tls=_switch("tls", given.pop("tls", "0")),
        authority=given.pop("authority", None),
        certificate=given.pop("certificate", None),
        key=given.pop("key", None),
        wait=_wait(given.pop("wait", None)),
    )
    if given:
        raise ConfigurationError(f"{', '.join(given)} means nothing in the URL of a Cassandra store")
    if read.local and read.datacenter is None:
        raise ConfigurationError("consistency=local needs to know where that is: add datacenter=… to the URL")
    return read


def checked_keyspace(name: str) -> str:
    """The name, if it can stand in a statement as it is; else ConfigurationError."""
    if not _KEYSPACE.fullmatch(name):
        raise ConfigurationError(f"keyspace {name} can't be used: write small letters, digits and _, 48 at most")
    return name


def _places(text: str) -> tuple[tuple[str, ...], int]:
    """Hosts, and the one port that all nodes of a cluster have; it may stand behind any of them."""
    hosts, ports = [], set()
    for place in text.split(","):
        host, colon, port = (place, "", "") if place.endswith("]") else place.rpartition(":")
        hosts.append((host if colon else place).strip("[]"))
        if colon:
            ports.add(port)
    if not all(hosts):
        raise ConfigurationError(f"the URL names no host: write {_EXAMPLE}")
    if len(ports) > 1:
        raise ConfigurationError("all nodes of a cluster have the same port: write it once, behind the last host")
    port = ports.pop() if ports else str(DEFAULT_PORT)
    return tuple(hosts), _number("the port", port, 1, 65_535)


def _replication(text: str) -> Mapping[str, int]:
    """`3`, or `berlin:3,oslo:3`."""
    if ":" not in text:
        return {"": _number("replication", text, 1, _MOST_COPIES)}
    copies = {}
    for part in text.split(","):
        name, _, count = part.partition(":")
        copies[_datacenter(name) or ""] = _number("replication", count, 1, _MOST_COPIES)
    return copies


def _datacenter(name: str | None) -> str | None:
    if name is not None and not _DATACENTER.fullmatch(name):
        raise ConfigurationError(f"datacenter={name} can't be used: write its name as `nodetool status` shows it")
    return name


def _local(text: str) -> bool:
    if text not in ("local", "everywhere"):
        raise ConfigurationError(f"consistency={text} can't be used: write local, or everywhere")
    return text == "local"


def _switch(name: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise ConfigurationError(f"{name}={text} can't be used: write 1 or 0")
    return text == "1"


def _wait(text: str | None) -> timedelta:
    return DEFAULT_WAIT if text is None else timedelta(seconds=_number("wait", text, 0, _LONGEST_WAIT))


def _number(name: str, text: str, low: int, high: int) -> int:
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise ConfigurationError(f"{name} {text} can't be used: write a number from {low} to {high}")
    return int(text)
