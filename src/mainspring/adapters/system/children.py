"""Child processes, one per call, made by a fork server: forking a process that has threads isn't safe.

What passes between parent and child is JSON text. A child leads a process group of its own, which is killed whole, and
it kills that group itself when its parent is gone: nobody would settle what it does.
"""

import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

from mainspring import descriptors
from mainspring.errors import Exhausted, MainspringError, exhaustion

_RESULT, _ERROR, _LACK = b"r", b"e", b"l"


class ChildFailed(MainspringError):
    """The function raised in the child, or the child died; the message says what is known."""


def address_of(function: Callable[..., Any]) -> str:
    """Where a child finds *function*: `module:qualified.name`."""
    return f"{function.__module__}:{function.__qualname__}"


class Child:
    """One call in a process of its own."""

    def __init__(self, context: ForkServerContext, address: str, arguments: str) -> None:
        try:
            self._ours, theirs = context.Pipe()
        except OSError as error:
            raise exhaustion(error) or error from None
        self._theirs = theirs
        given = (theirs, address, arguments, descriptors.original())
        self._process: ForkServerProcess = context.Process(target=_serve, args=given)
        self._guard = threading.Lock()
        self._killed = False
        self._ended = False

    def call(self) -> Any:
        """Run the child to its end and return what its function returned; blocks, so it is called in a thread."""
        try:
            with self._guard:
                if self._killed:
                    raise ChildFailed("killed before it started")
                self._start()
            # Only the child may hold its end: otherwise its death would go unnoticed.
            self._theirs.close()
            try:
                answer: bytes | None = self._ours.recv_bytes()
            except (EOFError, OSError):
                answer = None
            # Whatever the function left running in its group ends with the call.
            self.kill()
            self._process.join()
            with self._guard:
                self._ended = True
            return _understood(answer, self._process.exitcode)
        finally:
            self.close()

    def _start(self) -> None:
        try:
            self._process.start()
        except EOFError:
            # The fork server has died of it, and the next call starts another.
            raise Exhausted("processes or threads", "the fork server couldn't start a child") from None
        except (OSError, RuntimeError) as error:
            raise exhaustion(error) or error from None

    def close(self) -> None:
        """Let go of the pipe; twice changes nothing."""
        self._ours.close()
        self._theirs.close()

    def kill(self) -> None:
        """End the child and all that it started; safe from any thread, at any time, and twice."""
        with self._guard:
            self._killed = True
            if self._process.pid is None or self._ended:
                return
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                # Until the child leads its group there is only the child itself to kill.
                with suppress(ProcessLookupError):
                    os.kill(self._process.pid, signal.SIGKILL)


def _understood(answer: bytes | None, exit_code: int | None) -> Any:
    if answer is None:
        how = f"was killed by signal {-exit_code}" if exit_code and exit_code < 0 else f"exited with {exit_code}"
        raise ChildFailed(f"the child process {how} before it answered")
    if answer[:1] == _LACK:
        raise Exhausted("processes or threads", answer[1:].decode())
    if answer[:1] == _ERROR:
        raise ChildFailed(answer[1:].decode())
    return json.loads(answer[1:])


def _serve(connection: Connection, address: str, arguments: str, most_open: int | None) -> None:
    os.setsid()
    descriptors.restore(most_open)
    try:
        threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()
    except RuntimeError as error:
        connection.send_bytes(_LACK + str(error).encode())
        return
    try:
        module, _, name = address.partition(":")
        function: Any = reduce(getattr, name.split("."), importlib.import_module(module))
        answer = _RESULT + json.dumps(function(**json.loads(arguments))).encode()
    except BaseException as error:  # noqa: BLE001 - told to the parent, also an exit
        answer = _ERROR + f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace")
    sys.stdout.flush()
    sys.stderr.flush()
    connection.send_bytes(answer)


def _end_with_parent(connection: Connection) -> None:
    # The parent never sends anything: the wait ends when its end is closed.
    with suppress(EOFError, OSError):
        connection.recv_bytes()
    os.killpg(0, signal.SIGKILL)
