"""The hit log: one record of 16 bytes per executed job, the same for every contender."""

import os
import struct
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VARIABLE = "BENCHMARK_HITS"
RECORD = struct.Struct("<qq")
POLL_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Hit:
    number: int
    moment_ns: int


@cache
def _descriptor() -> int:
    return os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def hit(number: int) -> None:
    """The job that every contender executes. One append, so that a kill leaves a whole record or none."""
    moment_ns = time.time_ns()
    os.write(_descriptor(), RECORD.pack(number, moment_ns))


@dataclass(frozen=True, slots=True)
class HitLog:
    path: Path

    def count(self) -> int:
        return self.path.stat().st_size // RECORD.size if self.path.exists() else 0

    def read(self) -> list[Hit]:
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = len(content) - len(content) % RECORD.size
        return [Hit(*record) for record in RECORD.iter_unpack(content[:whole])]

    def wait_for(self, count: int, *, patience_seconds: float) -> bool:
        """Whether *count* hits were reached; gives up after *patience_seconds* without any progress."""
        seen, changed = -1, time.monotonic()
        while (now_seen := self.count()) < count:
            if now_seen != seen:
                seen, changed = now_seen, time.monotonic()
            elif time.monotonic() - changed > patience_seconds:
                return False
            time.sleep(POLL_SECONDS)
        return True
