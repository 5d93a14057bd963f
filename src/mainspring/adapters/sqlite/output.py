"""The Output port on SQLite."""

from collections.abc import Sequence
from functools import partial

from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.domain.ids import Fence, RunId
from mainspring.ports.output import Printed

_WRITE = """
    INSERT OR REPLACE INTO output (run_id, fence, head, tail, length, progress, message)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
"""
_READ = """
    SELECT fence, head, tail, length, progress, message FROM output WHERE run_id = ?1 ORDER BY fence DESC LIMIT 1
"""


class SqliteOutput:
    """One row for each attempt that printed anything."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def write(self, outputs: Sequence[Printed]) -> None:
        """Replace what is kept for each (run, fence)."""
        await self._engine.write(partial(_write, outputs=outputs))

    async def read(self, run_id: RunId) -> Printed | None:
        """The output of the highest fence that wrote any."""
        return await self._engine.read(partial(_read, run_id=run_id))


def _write(transaction: Transaction, outputs: Sequence[Printed]) -> None:
    for printed in outputs:
        transaction.execute(
            _WRITE,
            printed.run_id.bytes,
            printed.fence,
            printed.head,
            printed.tail,
            printed.length,
            printed.progress,
            printed.message,
        )


def _read(transaction: Transaction, run_id: RunId) -> Printed | None:
    for fence, head, tail, length, progress, message in transaction.connection.execute(_READ, (run_id.bytes,)):
        return Printed(
            run_id=run_id,
            fence=Fence(fence),
            head=head,
            tail=tail,
            length=length,
            progress=progress,
            message=message,
        )
    return None
