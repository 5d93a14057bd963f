import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from threading import Thread

import psutil  # type: ignore[import-untyped]  # psutil ships no types

from servers import keeper
from servers.account import Account
from servers.folder import ServerFolder

PATIENCE = 30.0
"""Seconds for a server to start, on a machine that has more to do."""
_PAUSE = 0.01
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
"""All that a server sees of ours: a developer's PGPORT or LANG must not change what is tested."""


class ServerFailed(Exception):
    """A server didn't start, or didn't end; the message has the end of its log."""


class NotInstalled(Exception):
    """The program isn't there; the message says what to install."""


class ServerProcess:
    """One run of a server under its keeper. Every call blocks, for a bounded time."""

    def __init__(
        self, folder: ServerFolder, command: Sequence[str], *, account: Account | None, farewell: signal.Signals
    ) -> None:
        options = ["--farewell", str(farewell.value)]
        if account is not None:
            options += ["--user", str(account.user), "--group", str(account.group)]
        self._folder = folder
        with folder.log.open("ab") as log:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", keeper.__file__, *options, "--", str(folder.path), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=ENVIRONMENT,
                # A Ctrl-C at the terminal is for the tests, which then end the server themselves.
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        """Whether it hasn't ended yet, of itself or by an order."""
        return self._keeper.poll() is None

    @property
    def server_pid(self) -> int:
        """The number of the server's own process."""
        children = psutil.Process(self._keeper.pid).children()
        if not children:
            raise ServerFailed(f"the server has ended:\n{self._folder.last_words()}")
        return int(children[0].pid)

    def wait_until(self, ready: Callable[[], bool], *, patience: float = PATIENCE) -> None:
        """Return once *ready* says so; ServerFailed if the server ends before, or takes longer than *patience*."""
        deadline = time.monotonic() + patience
        while not ready():
            if not self.is_running:
                raise ServerFailed(f"the server ended before it was ready:\n{self._folder.last_words()}")
            if time.monotonic() > deadline:
                raise ServerFailed(f"not ready within {patience:.0f} s:\n{self._folder.last_words()}")
            time.sleep(_PAUSE)

    def end(self, how: signal.Signals) -> None:
        """Send the signal and return when all processes of the server have ended; SIGKILL is for all of them."""
        if self._keeper.stdin is None or self._keeper.stdin.closed:
            return
        try:
            with self._keeper.stdin as orders:
                orders.write(bytes([how.value]))
        except BrokenPipeError:
            pass  # it has ended already
        try:
            self._keeper.wait(keeper.GRACE * 2 + PATIENCE)
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"the server doesn't end:\n{self._folder.last_words()}") from None

    def leave(self) -> None:
        """Part from the keeper, which goes on as long as anybody holds the folder."""
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()
        # It may go on for long or end at once: either way somebody has to take note of its end.
        Thread(target=self._keeper.wait, daemon=True).start()
