"""The Output port on PostgreSQL."""

from collections.abc import Sequence

from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.rows import text
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import Fence, RunId
from mainspring.ports.output import Printed

_SQL = load("output")


class PostgresOutput:
    """One row for each attempt that printed anything."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def write(self, outputs: Sequence[Printed]) -> None:
        """Replace what is kept for each (run, fence)."""
        if not outputs:
            return
        newest = {(printed.run_id, printed.fence): printed for printed in outputs}
        rows = [
            newest[attempt] for attempt in sorted(newest)
        ]  # one order for all writers: none waits for another in a circle
        await self._engine.execute(
            _SQL["write"],
            [printed.run_id for printed in rows],
            [printed.fence for printed in rows],
            [printed.head for printed in rows],
            [printed.tail for printed in rows],
            [printed.length for printed in rows],
            [printed.progress for printed in rows],
            [text(printed.message) for printed in rows],
        )

    async def read(self, run_id: RunId) -> Printed | None:
        """The output of the highest fence that wrote any."""
        row = await self._engine.row(_SQL["read"], run_id)
        if row is None:
            return None
        fence, head, tail, length, progress, message = row
        return Printed(
            run_id=run_id,
            fence=Fence(fence),
            head=head,
            tail=tail,
            length=length,
            progress=progress,
            message=message,
        )
