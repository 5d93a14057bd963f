"""The program that knew schema 1, made of this one.

A checkout may have no history, and no version was released that could be fetched. What the previous program does to a
store is decided by its statements, by the code that binds and reads them, and by its migrations. So it is this program
with what has changed of these since as it was: the files in `schema_1`, which are those of that time to the letter, but
for `identity.py`, as no store had one, and for what the port asks of sessions since; and without the migrations that
came since. Whoever writes the next migration keeps what it changes in `schema_2`.
"""

import shutil
from pathlib import Path

import mainspring

SCHEMA = 1
CHANGED = Path(__file__).with_name(f"schema_{SCHEMA}")


def previous_program(folder: Path) -> str:
    """Lay the program out in *folder*; return what runs it, instead of the one that is installed."""
    package = folder / "mainspring"
    shutil.copytree(Path(mainspring.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(CHANGED, package, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for step in package.glob("adapters/*/migrations/*.sql"):
        if int(step.name[:4]) > SCHEMA:
            step.unlink()
    return f"import sys; sys.path.insert(0, {str(folder)!r})\nfrom mainspring.cli.main import run; run()"
