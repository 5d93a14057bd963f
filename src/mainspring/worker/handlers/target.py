"""Where a webhook goes: a URL is read once, its host resolved once, and every address checked before any connection.

The check of the resolved addresses is the guard. What is refused by its spelling alone (odd forms of addresses,
credentials, control characters) is refused because two readers could understand it differently.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from yarl import URL

from mainspring.errors import Exhausted, exhaustion
from mainspring.worker.flow import Abandon, Fail
from mainspring.worker.handlers.addresses import Address
from mainspring.worker.handlers.policy import NetworkPolicy

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""All addresses of a name, as text; OSError if there are none."""

MAX_URL = 8192
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
_NUMERIC = re.compile(r"(?:\d+|0x[0-9a-f]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL that is understood; *literal* is set where the host is an address already."""

    url: URL
    host: str
    port: int
    literal: Address | None


def read_url(text: str) -> Target:
    """Understand *text* in the one way that everybody does, or Abandon."""
    if len(text) > MAX_URL or _UNSAFE.search(text):
        raise Abandon(f"url: must have at most {MAX_URL} characters and no spaces, control characters or backslashes")
    try:
        url = URL(text)
        host, port = url.raw_host, url.port
    except ValueError as error:
        raise Abandon(f"url: can't be read: {error}") from None
    if url.scheme not in ("http", "https") or not host or not port:
        raise Abandon("url: must begin with http:// or https:// and name a host, and a port other than 0 if any")
    if "@" in url.raw_authority or "@" in _authority(text):
        raise Abandon("url: must not contain credentials; put them into headers")
    return Target(url=url, host=host, port=port, literal=_literal(host))


async def resolve_checked(target: Target, policy: NetworkPolicy, resolve: Resolve) -> Sequence[Address]:
    """The addresses to connect to: all that the host has, each permitted. One that isn't refuses the whole."""
    addresses = [target.literal] if target.literal is not None else await _look_up(target, resolve)
    if all(policy.permits(address) for address in addresses):
        return addresses
    raise Abandon(
        f"url: {target.host} is not on the public internet; webhooks from here go elsewhere only to networks that "
        "MAINSPRING_WEBHOOK_ALLOW lists"
    )


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """Ask the operating system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


async def _look_up(target: Target, resolve: Resolve) -> Sequence[Address]:
    try:
        found = await resolve(target.host, target.port)
    except (OSError, UnicodeError, RuntimeError) as error:
        if (lack := lacking(error)) is not None:
            raise lack from None
        if isinstance(error, RuntimeError):
            raise
        raise Fail(f"can't resolve {target.host}: {error}") from None
    # The order is the resolver's preference; repetitions would only be tried twice.
    addresses = list(dict.fromkeys(ip_address(text) for text in found))
    if not addresses:
        raise Fail(f"can't resolve {target.host}: it has no address")
    return addresses


def lacking(error: BaseException) -> Exhausted | None:
    """What this process lacks, if *error*, met on the way to a receiver, comes of that.

    The resolver has numbers of its own, and several addresses that failed have none: whether there are descriptors
    left is then simply tried.
    """
    lack = exhaustion(error)
    if lack is None and isinstance(error, socket.gaierror) and error.errno == socket.EAI_MEMORY:
        lack = Exhausted("memory", str(error.strerror))
    if lack is None and isinstance(error, OSError) and (error.errno is None or isinstance(error, socket.gaierror)):
        try:
            socket.socket().close()
        except OSError as refusal:
            lack = exhaustion(refusal)
    return lack


def _authority(text: str) -> str:
    return re.split(r"[/?#]", text.partition("://")[2], maxsplit=1)[0]


def _literal(host: str) -> Address | None:
    if ":" in host or "%" in host:
        return _ipv6(host)
    if _NUMERIC.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return _ipv4(host)
    if not _NAME.fullmatch(host):
        raise Abandon("url: the host must be a name of letters, digits, '-', '_' and '.', or an address")
    return None


def _ipv4(host: str) -> IPv4Address:
    try:
        return IPv4Address(host)
    except ValueError:
        raise Abandon("url: an IPv4 address must be written as four decimal numbers, like 192.0.2.1") from None


def _ipv6(host: str) -> IPv6Address:
    try:
        address = IPv6Address(host)
    except ValueError:
        raise Abandon("url: the host is neither a name nor an address") from None
    if address.scope_id is not None:
        raise Abandon("url: an IPv6 address must be written without a zone")
    return address
