"""Output: tables and sentences for people, JSON for programs."""

import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from mainspring.api.document import write_json
from mainspring.cli.columns import Column, Item, coloured, harmless, relative, text_of, why

WIDE = 1000
"""Columns where no terminal says how many there are: a program or a file reads it, and nothing is shortened."""
_GAP = 2
_SHORTEST = 12
"""Characters that still say something of a text that was shortened."""
_Filled = tuple[Column, Sequence["str | Text"]]
_TIMES = frozenset({"_at", "_time", "_to", "_heartbeat"})


class Printer:
    """Prints what a command found."""

    def __init__(self, *, as_json: bool = False, console: Console | None = None) -> None:
        self.as_json = as_json
        self.console = console or Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)

    async def items(
        self, found: AsyncIterator[Item], columns: Sequence[Column], *, limit: int | None, otherwise: str
    ) -> None:
        """A table of what is *found*, or a JSON text per line; *otherwise* is for people if there is nothing.

        Ask for one more than *limit*: that is how this knows that there are more.
        """
        shown: list[Item] = []
        more = False
        async for each in found:
            if limit is not None and len(shown) == limit:
                more = True
                break
            shown.append(each)
            if self.as_json:
                self._json(each)
        if not self.as_json:
            self.console.print(table(shown, columns, width=self.console.width) if shown else otherwise)
        if more:
            sys.stderr.write(f"mainspring: these are the first {limit}; --limit N shows more, --all everything\n")

    def item(self, item: Item, *more: RenderableType) -> None:
        """Everything about one thing."""
        if self.as_json:
            self._json(item)
            return
        self.console.print(details(item), *more)

    def answer(self, item: Item, sentence: str) -> None:
        """What became of an order: the thing as it is now for programs, a sentence for people."""
        if self.as_json:
            self._json(item)
        else:
            self.console.print(Text(harmless(sentence)), soft_wrap=True)

    def text(self, text: str) -> None:
        """Text as it is; on a terminal without what could do harm there."""
        sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()

    def note(self, sentence: str) -> None:
        """Something that isn't the result, beside it."""
        sys.stderr.write(f"mainspring: {sentence}\n")
        sys.stderr.flush()

    def _json(self, value: Any) -> None:
        sys.stdout.write(write_json(value).decode() + "\n")


def table(items: Sequence[Item], columns: Sequence[Column], now: datetime | None = None, *, width: int = WIDE) -> Table:
    """A table without lines, for *width*; what is useless when shortened is shown whole or left out."""
    now = now or datetime.now(UTC)
    made = Table(box=None, pad_edge=False, header_style="bold")
    filled = [(column, [column.cell(item, now) for item in items]) for column in columns]
    shown = _fitting(filled, width)
    for each in shown:
        column, _ = each
        made.add_column(
            column.title,
            no_wrap=column.whole,
            justify="right" if column.right else "left",
            min_width=_room(each) - _GAP if column.whole else None,
        )
    for row in zip(*(cells for _, cells in shown), strict=True):
        # As texts, because a string would be read for markup, and names come from anybody. Not wrapping is the text's
        # own business: a column that doesn't wrap can't be made narrower.
        texts = (Text(cell, no_wrap=True, overflow="ellipsis") if isinstance(cell, str) else cell for cell in row)
        made.add_row(*texts)
    return made


def _fitting(filled: Sequence[_Filled], width: int) -> Sequence[_Filled]:
    """The columns that there is room for: of the spare ones, the widest go first."""
    kept = list(filled)
    while sum(map(_room, kept)) > width and any(column.spare for column, _ in kept):
        kept.remove(max((each for each in kept if each[0].spare), key=_room))
    return kept


def _room(filled: _Filled) -> int:
    """How much a column needs at least, with its distance to the next."""
    column, cells = filled
    widest = max((len(str(cell)) for cell in cells), default=0)
    return _GAP + max(len(column.title), widest if column.whole else min(widest, _SHORTEST))


def details(item: Item, now: datetime | None = None) -> Table:
    """The fields of one thing, one below the other; those that are empty are left out."""
    now = now or datetime.now(UTC)
    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in item.items():
        if value not in (None, "", [], {}):
            made.add_row(name, _detail(name, value, now))
    return made


def run_sentence(item: Item) -> str:
    """How an execution stands, in a line."""
    reason = why(item)
    return f"execution {item['id']} {str(item['status']).lower()}" + (f": {reason}" if reason else "")


def _detail(name: str, value: object, now: datetime) -> "str | Text":
    if name == "status":
        return coloured(str(value))
    if isinstance(value, str):
        is_time = any(name.endswith(end) for end in _TIMES)
        return Text(f"{value} ({relative(value, now)})") if is_time else Text(harmless(value.rstrip("\n")))
    return Text(text_of(value))
