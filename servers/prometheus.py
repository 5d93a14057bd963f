"""A real Prometheus on loopback, and promtool, from the machine's packages: `scripts/install_prometheus.sh`."""

import json
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from servers.entered import Entered
from servers.folder import ServerFolder
from servers.ports import free_port
from servers.process import NotInstalled, ServerFailed, ServerProcess

_PORT_ATTEMPTS = 5
_ANSWER_SECONDS = 10.0


def installed_program(name: str) -> Path:
    """Where `prometheus` or `promtool` is; NotInstalled with what to do about it."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mainspring"
    private = caches / "prometheus" / "usr" / "bin" / name
    if private.exists():
        return private
    found = shutil.which(name)
    if found is None:
        raise NotInstalled(f"{name} isn't installed: scripts/install_prometheus.sh unpacks it")
    return Path(found)


class PrometheusServer(Entered):
    """One server of one's own, with its data; every call blocks.

    It reads *configuration* and whatever files that names by absolute paths. Should this process die, the server ends
    and its data goes too.
    """

    def __init__(self, configuration: Path) -> None:
        self._configuration = configuration
        self._program = installed_program("prometheus")
        self._port: int | None = None
        self._process: ServerProcess | None = None
        self.folder = ServerFolder.create("prometheus", account=None)

    @property
    def url(self) -> str:
        """Where its API and its pages are."""
        if self._port is None:
            raise ServerFailed("a server has no port before its start")
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Return when queries are answered; ServerFailed with the end of the log if that takes too long."""
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            self._port = free_port()
            try:
                self._launch(self._port)
            except ServerFailed as error:
                if "address already in use" not in str(error) or attempt == _PORT_ATTEMPTS:
                    raise
            else:
                return

    def query(self, expression: str) -> Sequence[Any]:
        """The samples or series that an expression has now; ValueError with Prometheus's words if it is wrong."""
        try:
            answer = self.ask("/api/v1/query", query=expression)
        except HTTPError as refusal:
            raise ValueError(f"{json.load(refusal)['error']}: {expression}") from None
        result: Sequence[Any] = answer["data"]["result"]
        return result

    def ask(self, path: str, **parameters: str) -> Any:
        """The answer of its API, read as JSON."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        with urlopen(f"{self.url}{path}{query}", timeout=_ANSWER_SECONDS) as answer:  # noqa: S310 - our own server
            return json.load(answer)

    def close(self) -> None:
        """End the server and delete its data."""
        if self._process is not None:
            self._process.end(signal.SIGTERM)
            self._process = None
        self.folder.remove()

    def _launch(self, port: int) -> None:
        command = [str(self._program), f"--config.file={self._configuration}"]
        command += [f"--storage.tsdb.path={self.folder.data}", f"--web.listen-address=127.0.0.1:{port}"]
        # A distribution's program looks for its pages where the package would have put them.
        command += [f"--web.console.templates={self.folder.path}", f"--web.console.libraries={self.folder.path}"]
        self._process = ServerProcess(self.folder, command, account=None, farewell=signal.SIGTERM)
        try:
            self._process.wait_until(self._is_ready)
        except BaseException:
            self._process.end(signal.SIGKILL)
            raise

    def _is_ready(self) -> bool:
        try:
            with urlopen(f"{self.url}/-/ready", timeout=_ANSWER_SECONDS):  # noqa: S310 - our own server
                return True
        except (URLError, ConnectionError, TimeoutError):
            return False
