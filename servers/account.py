"""The account that a server runs as: one without privileges, even where tests run as root."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

UNPRIVILEGED = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Numbers of a user and its group."""

    user: int
    group: int

    def own(self, path: Path) -> None:
        """Hand *path* to this account."""
        os.chown(path, self.user, self.group)


def unprivileged_account() -> Account | None:
    """The account to step down to, or None for somebody who has no privileges to drop."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(UNPRIVILEGED)
    return Account(user=entry.pw_uid, group=entry.pw_gid)


def is_open_to_all(path: Path) -> bool:
    """Whether every account gets as far as *path*: pytest's own folders and root's home are closed to others."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents) if folder.is_dir())
