"""Folders and files for the eyes of the user that runs Mainspring, and of a group that a folder is shared with.

New ones have their mode from the beginning: narrowed afterwards, they would be open for a moment. What is there already
loses what others may do, if it is this user's and nobody else's things are in it. What the group may do stays.
"""

import logging
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

OTHERS = stat.S_IRWXO

# Standard logging: commands that open a store have no other, and leave out what isn't a warning.
_log = logging.getLogger(__name__)


def make_folder(folder: Path) -> None:
    """Make *folder*, and what is missing above it; OSError where that can't be done."""
    for each in (*reversed(folder.parents), folder):
        if each.is_dir():
            continue
        try:
            each.mkdir(mode_in(each.parent) | stat.S_IXUSR | (stat.S_IXGRP if _shared(each.parent) else 0))
        except FileExistsError:
            if not each.is_dir():  # or else another process was faster
                raise


def create_file(path: Path) -> None:
    """Make an empty file, unless there is one; OSError where that can't be done.

    One that is there isn't opened: to close it again would end every lock that this process has on it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode_in(path.parent)))


def mode_in(folder: Path) -> int:
    """What to create files in *folder* with."""
    shared = stat.S_IRGRP | stat.S_IWGRP if _shared(folder) else 0
    return stat.S_IRUSR | stat.S_IWUSR | shared


def narrow_file(path: Path) -> None:
    """Take from others what they may do with a file of this user; one that isn't there is no trouble."""
    _narrow(path, stat.S_ISREG)


def narrow_folder(folder: Path, ours: Callable[[str], bool]) -> None:
    """The same for a folder, if all that is in it is *ours* by its name, and it isn't the system's.

    `--data /tmp`, `--data /srv` or `--data ~` mustn't shut others out of what they have there.
    """
    with suppress(OSError):
        above = folder.resolve().parent
        if above != above.parent and all(ours(each.name) for each in folder.iterdir()):
            _narrow(folder, stat.S_ISDIR)


def _narrow(path: Path, is_right: Callable[[int], bool]) -> None:
    with suppress(OSError):
        found = path.stat()
        mode = stat.S_IMODE(found.st_mode)
        if not mode & OTHERS or not is_right(found.st_mode) or found.st_uid != os.geteuid() or mode & stat.S_ISVTX:
            return
        path.chmod(mode & ~OTHERS)
        _log.info("permissions.narrowed", extra={"path": str(path), "mode": f"{mode & ~OTHERS:04o}"})


def _shared(folder: Path) -> bool:
    """Whether somebody has set the folder up for a group: its files belong to the group, which may write to it."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        return False
    return bool(mode & stat.S_ISGID and mode & stat.S_IWGRP and not mode & stat.S_IWOTH)
