"""Carrying out what the timetable has decided: by whoever decided it, or by anybody who finds it undone."""

from collections.abc import Sequence

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.document import Document
from mainspring.adapters.cassandra.jobs import Stored
from mainspring.adapters.cassandra.ledger import Noted
from mainspring.adapters.cassandra.listing import Entry, is_listed, strike
from mainspring.adapters.cassandra.records import state_of
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.runs import insert, read
from mainspring.adapters.cassandra.steer import steer
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import Lane
from mainspring.domain.run import Origin, State
from mainspring.ports.work import Cancel

REPLACED = "replaced"


async def help_first(context: Context, stored: Stored) -> None:
    """Finish what was decided on the job before anything else is: afterwards its document may be overwritten."""
    document = _document(stored)
    if document is not None and document.entry is not None and await is_listed(context, document.entry):
        await carry_out(context, document)
        await strike(context, document.entry)


async def help_with(context: Context, stored: Stored | None, entry: Entry) -> None:
    """Finish the decision to which *entry* leads, if the job still has its document: if not, others have done so."""
    document = _document(stored)
    if document is not None and document.entry == entry:
        await carry_out(context, document)


async def carry_out(context: Context, document: Document) -> Sequence[Row]:
    """Write what the document says and return its rows, but for those of moments that an older decision has given."""
    found = await read(context, [identity(row, "id") for row in document.rows])
    own = [row for row in document.rows if _is_own(row, found.get(identity(row, "id")))]
    # A row that was found may have been seen before it has reached a quorum: only what changed since certainly has.
    unsure = [row for row in own if _is_untouched(found.get(identity(row, "id")))]
    if unsure:
        await insert(context, unsure)
    if document.cancel is not None:
        await steer(context, document.cancel, Cancel(reason=REPLACED))
    return own


def notes_of(rows: Sequence[Row]) -> list[Noted]:
    """What the ledger is told of runs that were fired and of moments that were skipped."""
    return [
        Noted(
            id=identity(row, "id"),
            job_id=identity(row, "job_id"),
            owner=text(row, "owner"),
            fence=0,
            state=int(state_of(row)),
            lane=Lane(text(row, "lane")),
            kind=Origin.RECURRING,
            added=int(state_of(row) is State.WAITING),
            ended=_skipped(row),
        )
        for row in rows
    ]


def _skipped(row: Row) -> int:
    if state_of(row) is not State.SKIPPED:
        return 0
    return 1 if row.get("skipped_count") is None else number(row, "skipped_count")


def _document(stored: Stored | None) -> Document | None:
    return None if stored is None or stored.firing is None else Document.from_json(stored.firing)


def _is_own(row: Row, found: Row | None) -> bool:
    """Whether a row comes from this decision: an edit may put a job back to moments that have had their verdict."""
    return found is None or found["created_at"] == row["created_at"]


def _is_untouched(found: Row | None) -> bool:
    return found is None or number(found, "fence") == 0
