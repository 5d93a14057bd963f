"""What people type, as values: JSON from a flag, a file or the standard input, and durations."""

import json
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from mainspring.api.document import Raw, write_json
from mainspring.domain.schedule.duration import parse_duration
from mainspring.domain.schedule.span import Span
from mainspring.errors import Invalid, InvalidSchedule

_MILLISECOND = timedelta(milliseconds=1)


def payload_of(text: str) -> Raw:
    """The text of `--payload`, as it was written: JSON, `@file` with JSON in it, or `-` for the standard input."""
    source, content = "--payload", text
    if text == "-":
        source, content = "the standard input", sys.stdin.read()
    elif text.startswith("@"):
        source, content = text[1:], _content(Path(text[1:]))
    try:
        strict_json(content)
    except ValueError as error:
        advice = "" if source != "--payload" else "; write a text in both quotes, '\"like this\"', a file as @file"
        raise Invalid(f"{source} isn't JSON: {error}{advice}", field="payload") from None
    return Raw(content.strip().encode())


def strict_json(text: str) -> Any:
    """A value as the server would read it; ValueError for what it would refuse."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=number_as_written)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def number_as_written(text: str) -> float | Raw:
    """A float where that says the same, or else the number's own text."""
    value = float(text)
    return value if repr(value) == text else Raw(text.encode())


def json_text(value: object) -> str:
    """JSON on one line; with spaces for people, unless there are numbers in it that stay as they were written."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        return write_json(value).decode()


def milliseconds_of(text: str, flag: str) -> int:
    """A duration like 30s or 500ms, as it travels."""
    found = duration_of(text, flag)
    if found % _MILLISECOND:
        raise Invalid(f"{flag} must be a whole number of milliseconds, like 30s or 500ms", field=flag)
    return found // _MILLISECOND


def duration_of(text: str, flag: str) -> timedelta:
    """A duration like 30s, 1h30m or 1.5s; Invalid names the flag."""
    try:
        found = parse_duration(Span(text, 0, len(text)), fractions=True)
    except InvalidSchedule as error:
        raise Invalid(f"{flag}: {error}", field=flag) from None
    if not found:
        raise Invalid(f"{flag} must be longer than nothing, like 30s or 1h30m", field=flag)
    return found


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that were given."""
    return {name: value for name, value in values.items() if value is not None}


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8"
        raise Invalid(f"{path} can't be read: {reason}", field="payload") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands in it twice")
    return members


def _no_constant(constant: str) -> Any:
    raise ValueError(f"{constant} isn't a JSON number")
