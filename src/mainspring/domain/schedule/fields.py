"""The fields of a cron expression: each is checked piece by piece, so that an error points at the piece.

A field is a list of items: `*`, a value, a range `a-b`, any of them with a step `/n`; a month or weekday may be a
name. The day of month also knows `L` (last day) and `LW` (last weekday), the day of week `5L` (last Friday) and
`5#2` (second Friday).
"""

import re
from dataclasses import dataclass

from mainspring.domain.schedule.span import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field: the values from low to high, of which the first may have names."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """What may stand here, for messages."""
        values = f"{self.low}\N{EN DASH}{self.high}"
        return f"{values} or {self.names[0]}\N{EN DASH}{self.names[-1]}" if self.names else values

    def canonical(self, span: Span) -> str:
        """The field in upper case without leading zeros; raise InvalidSchedule at the item that is wrong."""
        return ",".join(self._item(item) for item in span.split(","))

    def _item(self, item: Span) -> str:
        if not str(item):
            raise item.fault(f"an item of the {self.name} list is empty")
        base, step = item.partition("/")
        if step is None:
            return self._range(item)
        number, values = self._step(step), self._range(base)
        # A range of one value has nothing to step through, whereas `5/15` means "from 5 on, every 15".
        return values if "-" in str(base) and "-" not in values else f"{values}/{number}"

    def _range(self, span: Span) -> str:
        if str(span) == "*":
            return "*"
        first, last = span.partition("-")
        low = self._value(first)
        if last is None:
            return self._text(first)
        high = self._value(last)
        if low > high:
            raise span.fault(f"the {self.name} range {span} runs backwards; write it as two ranges joined by a comma")
        return self._text(first) if low == high else f"{self._text(first)}-{self._text(last)}"

    def _value(self, span: Span) -> int:
        text = str(span).upper()
        if text in self.names:
            return self.names.index(text) + self.low
        if not re.fullmatch(r"[0-9]+", text):
            raise span.fault(f"{self.name} {str(span)!r} isn't understood; {self._advice(text)}")
        if not self.low <= int(text) <= self.high:
            raise span.fault(f"{self.name} {span} is out of range {self.low}\N{EN DASH}{self.high}")
        return int(text)

    def _advice(self, text: str) -> str:
        return "write * for any" if text == "?" else f"use {self.allowed}"

    def _text(self, value: Span) -> str:
        text = str(value).upper()
        return text if text in self.names else str(int(text))

    def _step(self, step: Span) -> int:
        longest = self.high - self.low + 1
        if not re.fullmatch(r"[0-9]+", str(step)) or int(str(step)) == 0:
            raise step.fault(f"{self.name} step {str(step)!r} isn't a whole number above 0")
        if int(str(step)) > longest:
            raise step.fault(
                f"{self.name} step {step} is longer than the {longest} values; for long periods use @every"
            )
        return int(str(step))


class DayOfMonth(Field):
    """Days 1-31, the last day `L` and the last weekday `LW`."""

    __slots__ = ()

    def _item(self, item: Span) -> str:
        text = str(item).upper()
        return text if text in {"L", "LW"} else super()._item(item)

    def _advice(self, text: str) -> str:
        if "L" in text or "W" in text:
            return "of these only L (last day) and LW (last weekday) are known, each on its own"
        return super()._advice(text)


class DayOfWeek(Field):
    """Weekdays 0-7 (Sunday is both), the last one of a month `5L` and the n-th one `5#2`."""

    __slots__ = ()

    def _item(self, item: Span) -> str:
        day, number = item.partition("#")
        if number is not None:
            return self._nth(day, number)
        if str(item).upper().endswith("L"):
            return self._last(item.cut(0, len(str(item)) - 1))
        return super()._item(item)

    def _nth(self, day: Span, number: Span) -> str:
        value = self._value(day)
        if not re.fullmatch(r"[1-5]", str(number)):
            raise number.fault(f"day-of-week #{number} is out of range 1\N{EN DASH}5")
        return f"{value}#{number}"

    def _last(self, day: Span) -> str:
        if not str(day):
            raise day.cut(0, 1).fault("day-of-week L doesn't say which day; the last Friday of the month is 5L")
        return f"{self._value(day)}L"

    def _range(self, span: Span) -> str:
        first, last = span.partition("-")
        if last is not None and self._value(first) > self._value(last) == 0:
            return f"{self._value(first)}-7"  # a week may end on its Sunday
        return super()._range(span)


SECOND = Field(name="second", low=0, high=59)
MINUTE = Field(name="minute", low=0, high=59)
HOUR = Field(name="hour", low=0, high=23)
DAY_OF_MONTH = DayOfMonth(name="day-of-month", low=1, high=31)
MONTH = Field(
    name="month",
    low=1,
    high=12,
    names=("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)
DAY_OF_WEEK = DayOfWeek(name="day-of-week", low=0, high=7, names=("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))

FIVE = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)
SIX = (SECOND, *FIVE)
