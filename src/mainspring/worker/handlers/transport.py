"""The HTTP session that webhooks share. It connects only to addresses that were checked for the request at hand."""

import errno
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import aiohttp
from aiohttp import ClientConnectorError as ConnectingFailed
from aiohttp import ClientError
from aiohttp.abc import AbstractResolver, ResolveResult

from mainspring.worker.handlers.addresses import Address

__all__ = ["ClientError", "ConnectingFailed", "connecting_only_to", "open_session"]

_checked: ContextVar[Sequence[Address]] = ContextVar("checked_addresses", default=())


@contextmanager
def connecting_only_to(addresses: Sequence[Address]) -> Iterator[None]:
    """Within the block, names resolve to *addresses* and to nothing else; `Host` and SNI keep the name."""
    token = _checked.set(addresses)
    try:
        yield
    finally:
        _checked.reset(token)


def open_session() -> aiohttp.ClientSession:
    """A session without memory: no cookies, no proxies, no redirects of its own.

    Each request has a connection of its own. A kept one that the receiver closes just as it is used again fails a POST
    that nobody may repeat blindly, and it would go to an address that was checked for another request.
    """
    connector = aiohttp.TCPConnector(resolver=_Checked(), use_dns_cache=False, force_close=True, limit=0)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        # Bodies stay as they come: what is unpacked can be a thousand times what was sent.
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None),
        trust_env=False,
        skip_auto_headers=("Content-Type",),
    )


class _Checked(AbstractResolver):
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = _checked.get()
        if not addresses:
            raise OSError(errno.EHOSTUNREACH, f"no address was checked for {host}")
        del family
        return [_result(host, port, address) for address in addresses]

    async def close(self) -> None:
        """There is nothing to release."""


def _result(host: str, port: int, address: Address) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=socket.AF_INET if address.version == 4 else socket.AF_INET6,  # noqa: PLR2004 - an IP version
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST,
    )
