import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from servers.account import Account, is_open_to_all
from servers.keeper import USERS

_LAST_LINES = 30


class ServerFolder:
    """What one server writes, outside of any folder that is closed to its account, and who uses the server.

    A server runs as long as one process holds its folder. Locks end with their process, so no user can forget it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"
        self.log = path / "server.log"
        self._lock: int | None = None

    @classmethod
    def create(cls, name: str, account: Account | None) -> "ServerFolder":
        """Make an empty folder and hold it; *account* owns the data in it."""
        base = Path(tempfile.gettempdir()).resolve()
        if account is not None and not is_open_to_all(base):
            base = Path("/tmp")  # noqa: S108 - mkdtemp makes a name of its own there
        folder = cls(Path(tempfile.mkdtemp(prefix=f"mainspring-{name}-", dir=base)))
        folder.data.mkdir(mode=0o700)
        folder.log.touch(mode=0o600)
        (folder.path / USERS).touch(mode=0o600)
        if account is not None:
            folder.path.chmod(0o711)
            account.own(folder.data)
        if not folder.hold():
            raise RuntimeError(f"somebody else has taken {folder.path}")
        return folder

    def hold(self) -> bool:
        """Use the server until `release`, or until this process ends; False if the server is gone or about to go."""
        try:
            lock = os.open(self.path / USERS, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    def release(self) -> None:
        """No longer use the server; it ends if nobody else does."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def remove(self) -> None:
        """Delete everything; only when the server has ended."""
        self.release()
        shutil.rmtree(self.path, ignore_errors=True)

    def last_words(self) -> str:
        """The end of the server's log."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return "(no log)"
        return "\n".join(lines[-_LAST_LINES:])
