# Written by scripts/write_blocking.py from src/mainspring/client/asynchronous/leases.py. Don't edit.
"""A lock that is held while a block runs."""

import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from mainspring.client.blocking.connection import Connection
from mainspring.client.concurrency import Repeater, sleep
from mainspring.client.errors import ClientError, Conflict, LockBusy, LockLost, NotFound
from mainspring.client.models import HeldLock
from mainspring.client.reading import read
from mainspring.client.requests import milliseconds

RENEWALS_PER_TTL = 3
LOOK_AGAIN = timedelta(seconds=1)
"""The longest pause between two attempts to get a lock that is held."""
_MOMENT = timedelta(milliseconds=50)


class Lease:
    """`with client.lock("name") as lease:` holds the lock and renews it; give `token` to the resource."""

    def __init__(
        self,
        connection: Connection,
        name: str,
        *,
        ttl: timedelta,
        wait: timedelta | None,
        holder: str | None,
        on_lost: "Callable[[Lease], object] | None" = None,
    ) -> None:
        self.name = name
        self.holder = holder or f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(8)}"
        self.token = 0
        """Greater than that of every earlier holder: only the resource can refuse one that is late."""
        self.lost = False
        """Whether the lock couldn't be renewed in time."""
        self._connection = connection
        self._path = f"/locks/{quote(name, safe='')}"
        self._ttl = ttl
        self._wait = wait
        self._on_lost = on_lost
        self._valid_until = 0.0
        self._repeater: Repeater | None = None

    def __enter__(self) -> Self:
        self._acquire()
        self._repeater = Repeater(self._renew, self._ttl / RENEWALS_PER_TTL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._repeater is not None  # noqa: S101 - it was entered
        self._repeater.stop()
        if not self.lost:
            self._release()
        elif error is None or self._repeater.interrupted(error):
            raise LockLost(f"the lock {self.name!r} was lost while it was held") from None

    def _acquire(self) -> None:
        give_up_at = None if self._wait is None else time.monotonic() + self._wait.total_seconds()
        while True:
            # The lease counts from before the question: the server may have answered late.
            asked_at = time.monotonic()
            try:
                held = self._ask("acquire", ttl_ms=milliseconds(self._ttl))
            except Conflict as busy:
                pause = max(min(busy.retry_after or LOOK_AGAIN, LOOK_AGAIN), _MOMENT)
                left = None if give_up_at is None else timedelta(seconds=give_up_at - time.monotonic())
                if left is not None and left <= timedelta(0):
                    raise LockBusy(self.name, busy.problem.members.get("holder")) from None
                sleep(pause if left is None else min(pause, left))
            else:
                self.token = held.token
                self._valid_until = asked_at + self._ttl.total_seconds()
                return

    def _renew(self) -> bool:
        asked_at = time.monotonic()
        try:
            self._ask("renew", token=self.token, ttl_ms=milliseconds(self._ttl))
        except (Conflict, NotFound):
            self.lost = True
        except ClientError:
            # Unknown: the lock is good until its time is up, whoever answers or not.
            self.lost = time.monotonic() >= self._valid_until
        else:
            self._valid_until = asked_at + self._ttl.total_seconds()
        if self.lost and self._on_lost is not None:
            with suppress(Exception):  # whatever it does, the block must learn of the loss
                self._on_lost(self)
        return not self.lost

    def _release(self) -> None:
        try:
            self._connection.post(f"{self._path}/release", {"holder": self.holder, "token": self.token})
        except ClientError:
            # It costs others the rest of the ttl, nothing more.
            return

    def _ask(self, verb: str, **fields: Any) -> HeldLock:
        return read(HeldLock, self._connection.post(f"{self._path}/{verb}", {"holder": self.holder, **fields}))
