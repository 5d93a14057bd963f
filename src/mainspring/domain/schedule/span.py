"""A piece of a schedule's text that knows where it stands, so that an error can point at it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mainspring.errors import InvalidSchedule


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]` of the text as it was written."""

    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return self.text[self.start : self.end]

    def fault(self, message: str) -> InvalidSchedule:
        """An error that points at this piece."""
        return InvalidSchedule(message, text=self.text, part=str(self), position=self.start)

    def cut(self, start: int, end: int) -> "Span":
        """The piece between two offsets counted from the beginning of this one."""
        return Span(self.text, self.start + start, self.start + end)

    def words(self) -> list["Span"]:
        """The pieces between white space."""
        return [self.cut(*word.span()) for word in re.finditer(r"\S+", str(self))]

    def split(self, separator: str) -> Iterator["Span"]:
        """The pieces between separators; an empty piece keeps its place."""
        start = 0
        for piece in str(self).split(separator):
            yield self.cut(start, start + len(piece))
            start += len(piece) + len(separator)

    def partition(self, separator: str) -> tuple["Span", "Span | None"]:
        """What stands before the first separator and after it; None without a separator."""
        head, found, _ = str(self).partition(separator)
        if not found:
            return self, None
        return self.cut(0, len(head)), self.cut(len(head) + len(separator), self.end - self.start)
