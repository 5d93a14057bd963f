"""Named SQL statements, read from the files of an adapter."""

import re
from functools import cache
from importlib import resources

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COLUMNS = re.compile(r"\{(\w+)\}")


@cache
def load(package: str, file: str) -> dict[str, str]:
    """The statements of `statements/<file>.sql` by name; `{fragment}` stands for a statement of `fragments.sql`."""
    found = _parse(package, file)
    if file == "fragments":
        return found
    fragments = load(package, "fragments")
    return {name: _COLUMNS.sub(lambda match: fragments[match[1]], text) for name, text in found.items()}


def _parse(package: str, file: str) -> dict[str, str]:
    text = (resources.files(package) / "statements" / f"{file}.sql").read_text("utf-8")
    parts = _HEADING.split(text)[1:]
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}
