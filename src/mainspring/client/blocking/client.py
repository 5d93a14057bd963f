# Written by scripts/write_blocking.py from src/mainspring/client/asynchronous/client.py. Don't edit.
"""The client: one server, all calls."""

import os
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Self

import httpx

from mainspring.client.blocking.cluster import ClusterCalls
from mainspring.client.blocking.connection import Connection
from mainspring.client.blocking.jobs import JobCalls
from mainspring.client.blocking.leases import Lease
from mainspring.client.blocking.waiting import WaitingCalls
from mainspring.client.retrying import Retrying
from mainspring.client.wire import default_transport
from mainspring.version import __version__

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT = timedelta(seconds=10)
DEFAULT_TTL = timedelta(seconds=30)


class Client(JobCalls, WaitingCalls, ClusterCalls):
    """`with Client() as client:` talks to one Mainspring server; one client serves any number of threads.

    Requests whose answer is lost are sent again, under a key that lets the server do each of them once.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        owner: str | None = None,
        timeout: timedelta = DEFAULT_TIMEOUT,
        retrying: Retrying | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """*url* and the API *key* come from MAINSPRING_URL and MAINSPRING_KEY unless given; *timeout* is per try."""
        token = key or os.environ.get("MAINSPRING_KEY")
        headers = {"User-Agent": f"mainspring/{__version__}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if owner is not None:
            headers["X-User-ID"] = owner
        self._retrying = retrying or Retrying()
        self._connection = Connection(
            url or os.environ.get("MAINSPRING_URL") or DEFAULT_URL,
            headers=headers,
            timeout=timeout,
            retrying=self._retrying,
            transport=transport or default_transport(),
        )

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._connection.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; the client can't be used afterwards."""
        self._connection.close()

    def lock(
        self,
        name: str,
        ttl: timedelta = DEFAULT_TTL,
        *,
        wait: timedelta | None = None,
        holder: str | None = None,
        on_lost: Callable[[Lease], object] | None = None,
    ) -> Lease:
        """Hold the lock *name* during a block, renewed all the while; LockBusy after *wait* (None: never).

        If the lock is lost, *on_lost* is called at once, from where it is renewed, and LockLost is raised. Hand the
        lease's token to the resource: only the resource can refuse a holder that is late.
        """
        return Lease(self._connection, name, ttl=ttl, wait=wait, holder=holder, on_lost=on_lost)
