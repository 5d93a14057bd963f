"""What the five documents ask for, by number, and what shows that it is so; the page about it is made from this.

Tests say by themselves which numbers they show, in the first sentence of their docstrings: `S0-25, 60 to 64; S1-02.`
What is shown otherwise, what comes later and why, and what each number is about stands in scripts/documents.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.documents import DOCUMENTS, Document, Group

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
OF_DOCUMENTS = "tests/documents/"
"""Where the tests are that paste commands; the page says so once."""
_RANGE = re.compile(r"(\d+)(?: to (\d+))?")
_SAYING = re.compile(r"S\d-\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A test, and the numbers of one document that it shows."""

    path: str
    name: str
    document: str
    numbers: frozenset[int]


def numbers_in(text: str) -> Sequence[int]:
    """The numbers that a text like `01, 04 to 07` names, in its order."""
    ranges = [(int(first), int(last or first)) for first, last in _RANGE.findall(text)]
    return [number for first, last in ranges for number in range(first, last + 1)]


def shown_in(document: Document) -> Sequence[Evidence]:
    """The tests that name numbers of the document."""
    return [each for each in evidence() if each.document == document.name]


@cache
def evidence() -> Sequence[Evidence]:
    """The tests that name numbers of any document."""
    found: list[Evidence] = []
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if _SAYING.search(text):
            found += _named(path.relative_to(ROOT).as_posix(), ast.parse(text))
    return found


def _named(path: str, module: ast.Module) -> Iterator[Evidence]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            said = (ast.get_docstring(node) or "").partition(".")[0]
            for part in said.split("; ") if _SAYING.match(said) else ():
                document, _, numbers = part.partition("-")
                yield Evidence(path=path, name=node.name, document=document, numbers=frozenset(numbers_in(numbers)))


def faults() -> Iterator[str]:
    """What doesn't fit together: numbers without a place, with two, or shown by nothing that is there."""
    for document in DOCUMENTS:
        listed = [number for group in document.groups for number in numbers_in(group.numbers)]
        for number in range(1, document.last + 1):
            if listed.count(number) != 1:
                yield f"{document.name}-{number:02} is listed {listed.count(number)} times"
        for number in sorted(set(listed) - set(range(1, document.last + 1))):
            yield f"{document.name} has no number {number}"
        shown = frozenset(number for test in shown_in(document) for number in test.numbers)
        for group in document.groups:
            yield from _faults_of(document, group, shown)


def _faults_of(document: Document, group: Group, shown: frozenset[int]) -> Iterator[str]:
    numbers = numbers_in(group.numbers)
    if group.later or group.moot:
        yield from (f"{document.name}-{each:02} is shown, and says it isn't" for each in numbers if each in shown)
    elif group.where:
        yield from (f"there is no {place}" for place in group.where if not _is_there(place))
    else:
        yield from (f"{document.name}-{each:02} is shown by no test" for each in numbers if each not in shown)


def _is_there(place: str) -> bool:
    """Whether a path exists, and if a test follows it after two colons, whether that is in it."""
    path, _, test = place.partition("::")
    return (ROOT / path).exists() and (not test or f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"))


def rows(document: Document) -> Iterator[tuple[str, str, str]]:
    """Numbers, what they are about, and where to look."""
    tests = shown_in(document)
    for group in document.groups:
        wanted = frozenset(numbers_in(group.numbers))
        shown = [f"{test.path}::{test.name}" for test in tests if test.numbers & wanted]
        links = [_link(place) for place in dict.fromkeys([*group.where, *shown])]
        waits = f"later: {group.later}" if group.later else group.moot
        yield group.numbers, group.about, waits or ", ".join(links)


def _link(place: str) -> str:
    path, _, test = place.partition("::")
    if test and path.startswith(OF_DOCUMENTS):
        return f"`{test}`"
    return f"[{f'`{test}`' if test else path}](../../{path})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many numbers of a document are shown, wait, and have nothing to show."""

    shown: int
    later: int
    moot: int


def counts() -> Mapping[str, Count]:
    """For each document what has become of its numbers."""
    return {
        document.name: Count(
            shown=_sum(group for group in document.groups if not (group.later or group.moot)),
            later=_sum(group for group in document.groups if group.later),
            moot=_sum(group for group in document.groups if group.moot),
        )
        for document in DOCUMENTS
    }


def _sum(groups: Iterator[Group]) -> int:
    return sum(len(numbers_in(group.numbers)) for group in groups)


def left() -> Mapping[str, Sequence[str]]:
    """What is waited for, each with the numbers that wait."""
    waiting: dict[str, list[str]] = {}
    for document in DOCUMENTS:
        for group in document.groups:
            if group.later:
                waiting.setdefault(group.later, []).append(f"{document.name}-{group.numbers}")
    return waiting
