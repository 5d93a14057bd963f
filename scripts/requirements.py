"""What the five documents ask for, by number, and what shows that it is so; the page about it is made from this.

The tests in tests/documents say by themselves which numbers they show, in the first sentence of their docstrings.
Here stands what is shown elsewhere, what comes later and why, and what each number is about.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.requirement_groups import DOCUMENTS, Document, Group

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "documents"
_RANGE = re.compile(r"(\d+)(?: to (\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A test, and the numbers that it shows."""

    path: str
    name: str
    numbers: frozenset[int]


def numbers_in(text: str) -> Sequence[int]:
    """The numbers that a text like `01, 04 to 07` names, in its order."""
    ranges = [(int(first), int(last or first)) for first, last in _RANGE.findall(text)]
    return [number for first, last in ranges for number in range(first, last + 1)]


def shown_in(document: Document) -> Sequence[Evidence]:
    """The tests that name numbers of the document."""
    path = TESTS / f"test_{document.name.lower()}.py"
    functions = (node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef))
    return list(_named(document, path.relative_to(ROOT).as_posix(), functions))


def _named(document: Document, path: str, functions: Iterator[ast.FunctionDef]) -> Iterator[Evidence]:
    mark = f"{document.name}-"
    for function in functions:
        said = ast.get_docstring(function) or ""
        if said.startswith(mark):
            numbers = numbers_in(said.removeprefix(mark).partition(".")[0])
            yield Evidence(path=path, name=function.name, numbers=frozenset(numbers))


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
        yield from (f"there is no {path}" for path in group.where if not (ROOT / path).exists())
    else:
        yield from (f"{document.name}-{each:02} is shown by no test" for each in numbers if each not in shown)


def rows(document: Document) -> Iterator[tuple[str, str, str]]:
    """Numbers, what they are about, and where to look."""
    tests = shown_in(document)
    for group in document.groups:
        wanted = frozenset(numbers_in(group.numbers))
        names = [f"`{test.name}`" for test in tests if test.numbers & wanted]
        links = [f"[{path}](../../{path})" for path in group.where]
        waits = f"later: {group.later}" if group.later else group.moot
        yield group.numbers, group.about, waits or ", ".join([*links, *names])


def counts() -> Mapping[str, tuple[int, int]]:
    """For each document how many numbers are shown, and how many there are."""
    return {
        document.name: (
            sum(len(numbers_in(group.numbers)) for group in document.groups if not (group.later or group.moot)),
            document.last,
        )
        for document in DOCUMENTS
    }
