"""Named SQL statements, read from the files beside this module."""

import re
from functools import cache
from importlib import resources

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COLUMNS = re.compile(r"\{(\w+)\}")


@cache
def load(file: str) -> dict[str, str]:
    """The statements of `statements/<file>.sql` by name; `{fragment}` stands for a statement of `fragments.sql`."""
    found = _parse(file)
    if file == "fragments":
        return found
    fragments = load("fragments")
    return {name: _COLUMNS.sub(lambda match: fragments[match[1]], text) for name, text in found.items()}


def _parse(file: str) -> dict[str, str]:
    text = (resources.files(__package__) / "statements" / f"{file}.sql").read_text("utf-8")
    parts = _HEADING.split(text)[1:]
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}
