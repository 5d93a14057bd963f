"""The handler of both versions: each call leaves a line that says which process made it."""

import os
from pathlib import Path

from mainspring import Context, handler

LEDGER = Path("ledger")


@handler("ledger.note")
async def note(_payload: object, context: Context) -> None:
    """One append, so that there are whole lines only."""
    descriptor = os.open(LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{context.run_id} {os.getpid()}\n".encode())
    finally:
        os.close(descriptor)
