"""Programs die with their worker, even if it is killed without a chance to say so.

A small process of its own reads, from a pipe that only the worker holds open, which process groups are running. When
the worker is gone, whatever the reason, the pipe ends and the guardian kills what was left running. (The kernel's own
signal for a dead parent reaches the first process only, never the group.)
"""

import os
import subprocess
from contextlib import suppress

from mainspring import descriptors

_SHELL = "/bin/sh"
_SCRIPT = """
trap '' HUP INT QUIT TERM
groups=
while read -r change group; do
    kept=
    for each in $groups; do
        [ "$each" = "$group" ] || kept="$kept $each"
    done
    [ "$change" = + ] && kept="$kept $group"
    groups=$kept
done
for each in $groups; do
    kill -s KILL -- "-$each"
done
"""


class Guardian:
    """Started with the first group; started again, with all that run, should it die itself."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: dict[int, None] = {}

    def watch(self, group: int) -> None:
        """See to it that the group doesn't outlive this process."""
        self._groups[group] = None
        # Without a guardian a program still ends with its run; only a killed worker would leave it behind.
        with suppress(OSError):
            try:
                self._write(f"+ {group}\n")
            except BrokenPipeError:
                self._start()

    def forget(self, group: int) -> None:
        """The group has ended; its number may soon be somebody else's."""
        self._groups.pop(group, None)
        with suppress(OSError):
            self._write(f"- {group}\n")

    def close(self) -> None:
        """Let the guardian go; it kills what is still watched."""
        process, self._process = self._process, None
        if process is not None:
            process.communicate()

    def _start(self) -> None:
        self.close()
        self._process = _spawn()
        self._write("".join(f"+ {group}\n" for group in self._groups))

    def _write(self, message: str) -> None:
        if self._process is None or self._process.stdin is None:
            raise BrokenPipeError("there is no guardian to tell")
        os.write(self._process.stdin.fileno(), message.encode())


def _spawn() -> "subprocess.Popen[bytes]":
    return descriptors.start(
        lambda: subprocess.Popen(  # noqa: S603 - a script of our own
            (_SHELL, "-c", _SCRIPT),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
    )
