"""Signals between processes of one machine: a datagram socket per subscriber, in a folder that they share.

To notify is to send the topics to every socket in the folder, but for those of one's own household. Nothing is ever
waited for: a full buffer means that its reader has plenty to wake up to, and a socket that nobody reads any more is
removed by whoever finds it.
"""

import asyncio
import contextlib
import os
import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from mainspring.adapters.alarm import fine_alarm
from mainspring.adapters.files.household import Household
from mainspring.adapters.inbox import Inbox
from mainspring.adapters.private_files import make_folder, mode_in, narrow_folder
from mainspring.errors import ConfigurationError

SUFFIX = ".sock"
LISTING_AGE = 1.0
"""Seconds after which the folder is read again even if it looks unchanged."""
SETTLED = 50_000_000
"""Nanoseconds after which another change is sure to get another time stamp: they are as coarse as a timer tick."""

_MAX_DATAGRAM = 8192
_MAX_READS = 256
_LONGEST_ADDRESS = 100
"""A socket's address holds 104 to 108 bytes, by system."""


class FileSignals:
    """One subscriber. Any thread may notify; the loop that opened it waits. Survives every death but its own."""

    def __init__(self, folder: Path, household: Household) -> None:
        make_folder(folder)
        narrow_folder(folder, lambda name: name.endswith(SUFFIX))
        self._folder = folder
        self._household = household
        self._inbox = Inbox(fine_alarm)
        self._name = secrets.token_hex(8) + SUFFIX
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._sender = _datagram_socket()
        self._receiver = _datagram_socket()
        self._listing = _Listing(folder)
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    async def open(cls, folder: Path, *, listening: bool = True, household: Household | None = None) -> "FileSignals":
        """Begin to listen in *folder*, or only to send there; ConfigurationError if the folder can't be used."""
        try:
            signals = cls(folder, household or Household())
        except OSError as error:
            raise _unusable(folder, error) from error
        if not listening:
            return signals
        try:
            with contextlib.suppress(OSError):  # Linux alone has a mode for sockets before they are bound
                os.fchmod(signals._receiver.fileno(), mode_in(folder))
            signals._receiver.bind(signals._address(signals._name))
        except OSError as error:
            await signals.close()
            raise _unusable(folder, error) from error
        signals._loop = asyncio.get_running_loop()
        signals._loop.add_reader(signals._receiver.fileno(), signals._receive)
        signals._household.join(signals._name, signals._inbox)
        return signals

    async def notify(self, topics: Sequence[str]) -> None:
        """Wake whoever waits for one of *topics*, in every process that shares the folder."""
        told = self._household.deliver(topics)
        for datagram in _datagrams(topics):
            for name in self._listing.names():
                if name not in told:
                    self._send(datagram, name)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """Return True once one of *topics* was notified since the last wait, False after *at_most*."""
        return await self._inbox.wait(topics, at_most)

    async def close(self) -> None:
        """Stop listening and leave no trace; closing twice changes nothing."""
        if self._descriptor < 0:
            return
        if self._loop is not None:
            self._loop.remove_reader(self._receiver.fileno())
        self._household.leave(self._name)
        self._inbox.close()
        self._remove(self._name)
        self._receiver.close()
        self._sender.close()
        os.close(self._descriptor)
        self._descriptor = -1

    def _send(self, datagram: bytes, name: str) -> None:
        try:
            self._sender.sendto(datagram, self._address(name))
        except ConnectionRefusedError:
            self._remove(name)
        except OSError:
            # Full (its reader is awake), gone since the folder was read, or closed here: a hint may be lost.
            return

    def _receive(self) -> None:
        for _ in range(_MAX_READS):
            try:
                datagram = self._receiver.recv(_MAX_DATAGRAM)
            except OSError:
                return
            with contextlib.suppress(UnicodeDecodeError):
                self._inbox.deliver(datagram.decode().split("\0"))

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self._descriptor)

    def _address(self, name: str) -> str:
        """A way to the socket that is short enough to be an address, however deep the folder lies."""
        address = str(self._folder / name)
        return address if len(os.fsencode(address)) <= _LONGEST_ADDRESS else f"/proc/self/fd/{self._descriptor}/{name}"


class _Listing:
    """The names of all sockets in the folder, read again when it has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: tuple[int, float, tuple[str, ...]] = (-1, 0.0, ())

    def names(self) -> tuple[str, ...]:
        changed_at, read_at, names = self._known
        now = time.monotonic()
        try:
            current = self._folder.stat().st_mtime_ns
            if current == changed_at and now - read_at < LISTING_AGE:
                return names
            names = tuple(sorted(path.name for path in self._folder.iterdir() if path.suffix == SUFFIX))
        except OSError:
            return ()
        settled = abs(time.time_ns() - current) > SETTLED
        # One assignment, so that another thread sees the old listing or the new one.
        self._known = (current if settled else -1, now, names)
        return names


def _datagram_socket() -> socket.socket:
    created = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    created.setblocking(False)
    return created


def _datagrams(topics: Sequence[str]) -> Iterator[bytes]:
    """Topics in as few datagrams as hold them; one that is too long for any is left out."""
    batch: list[bytes] = []
    size = 0
    for topic in topics:
        encoded = topic.encode()
        if len(encoded) > _MAX_DATAGRAM:
            continue
        if batch and size + len(encoded) + 1 > _MAX_DATAGRAM:
            yield b"\0".join(batch)
            batch, size = [], 0
        batch.append(encoded)
        size += len(encoded) + 1
    if batch:
        yield b"\0".join(batch)


def _unusable(folder: Path, error: OSError) -> ConfigurationError:
    reason = error.strerror or str(error)
    return ConfigurationError(
        f"processes can't signal each other in {folder} ({reason}); choose another folder with MAINSPRING_DATA"
    )
