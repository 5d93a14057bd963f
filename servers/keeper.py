"""Stands between a server and its users, so that the server never outlives them, however they end.

A program of its own, started by path. Every user holds a shared lock on the folder's file `users`, which the kernel
drops with the user's last breath; once nobody holds one, the keeper ends the server and deletes the folder. Until then
it takes orders: each byte on its standard input is the number of a signal that is to end the server.
"""

import argparse
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import psutil  # type: ignore[import-untyped]  # psutil ships no types

GRACE = 20.0
"""Seconds for a server to end as it was told; then it is killed."""
USERS = "users"

ABANDONED = -1
ENDED = 0

_PAUSE = 0.005


def main() -> int:
    """Start the server, see it to its end, and return how it ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--user", type=int, help="number of the account that runs the server")
    parser.add_argument("--group", type=int)
    parser.add_argument("--farewell", type=int, required=True, help="signal for a server that nobody uses any more")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()

    server = subprocess.Popen(
        arguments.command,
        stdin=subprocess.DEVNULL,
        cwd="/",
        user=arguments.user,
        group=arguments.group,
        extra_groups=None if arguments.user is None else [],
    )
    events: SimpleQueue[int] = SimpleQueue()
    watch_end = Thread(target=_watch_server, args=(server, events), daemon=True)
    watch_users = Thread(target=_watch_users, args=(arguments.folder / USERS, events), daemon=True)
    watch_orders = Thread(target=_watch_orders, args=(events,), daemon=True)
    for watch in (watch_end, watch_users, watch_orders):
        watch.start()
    while (event := events.get()) != ENDED:
        if event == ABANDONED:
            _end(server, arguments.farewell)
            shutil.rmtree(arguments.folder, ignore_errors=True)
        else:
            _end(server, event)
    return server.returncode


def _watch_server(server: subprocess.Popen[bytes], events: SimpleQueue[int]) -> None:
    server.wait()
    events.put(ENDED)


def _watch_users(users: Path, events: SimpleQueue[int]) -> None:
    # Granted when no shared lock is left, and kept: nobody can begin to use a server that is about to end.
    fcntl.flock(os.open(users, os.O_RDWR), fcntl.LOCK_EX)
    events.put(ABANDONED)


def _watch_orders(events: SimpleQueue[int]) -> None:
    while order := os.read(sys.stdin.fileno(), 1):
        events.put(order[0])


def _end(server: subprocess.Popen[bytes], how: int) -> None:
    if how == signal.SIGKILL:
        _kill(server)
        return
    server.send_signal(how)
    try:
        server.wait(GRACE)
    except subprocess.TimeoutExpired:
        _kill(server)


def _kill(server: subprocess.Popen[bytes]) -> None:
    """End the server and its children at once, like a power cut; return when none of them runs any more."""
    server.send_signal(signal.SIGSTOP)  # from here on it starts no more children
    try:
        children = psutil.Process(server.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        children = []
    for child in children:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    server.kill()
    server.wait()
    deadline = time.monotonic() + GRACE
    while any(_runs(child) for child in children) and time.monotonic() < deadline:
        time.sleep(_PAUSE)


def _runs(process: psutil.Process) -> bool:
    try:
        # What is dead but not yet reaped, by whoever inherited it, holds neither memory nor files.
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


if __name__ == "__main__":
    sys.exit(main())
