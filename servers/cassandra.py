"""A real Cassandra of one or several nodes on loopback, from the jars that `scripts/install_cassandra.sh` gathers.

Every node has an address of its own in 127.0.0.0/8 and all have the same port, as clients expect of a cluster.
"""

import os
import secrets
import shutil
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from servers.cassandra_settings import DEFAULTS, java_command, write_configuration
from servers.entered import Entered
from servers.folder import ServerFolder
from servers.ports import free_port
from servers.process import NotInstalled, ServerFailed, ServerProcess

VERSION = "5.0.9"
DATACENTER = "datacenter1"
"""As the simplest of all snitches calls it."""

_PATIENCE = 180.0
"""Seconds for a node to start, beside others on a machine that has more to do."""
_HEAPS = ("768m", "512m")
"""Of a node alone, and of one among several."""
_ANSWER_SECONDS = 1.0


def installed_jars() -> Path:
    """The folder of Cassandra's jars; NotInstalled with what to do about it."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mainspring"
    jars = caches / f"cassandra-{VERSION}"
    if not jars.exists() or shutil.which("java") is None:
        raise NotInstalled("Cassandra isn't installed: scripts/install_cassandra.sh fetches it, with Java")
    return jars


class CassandraNode:
    """One node of a cluster, with its data; every call blocks, so a coroutine makes it in a thread."""

    def __init__(
        self,
        address: str,
        port: int,
        settings: Mapping[str, str],
        seeds: Sequence[str],
        heap: str,
        *,
        short_lived: bool = False,
    ) -> None:
        self.address = address
        self.port = port
        self.folder = ServerFolder.create("cassandra", account=None)
        self._process: ServerProcess | None = None
        java = Path(shutil.which("java") or "java").resolve()
        self._command = java_command(java, installed_jars(), self.folder.data, heap, short_lived=short_lived)
        write_configuration(self.folder.data, settings, seeds)

    def launch(self) -> None:
        """Begin to start; one that runs is left alone."""
        if self._process is None or not self._process.is_running:
            # Its data is of no use to anybody afterwards, so there is nothing to write down in the end.
            self._process = ServerProcess(self.folder, self._command, account=None, farewell=signal.SIGKILL)

    def wait(self) -> None:
        """Return when clients are answered; ServerFailed with the end of the log if that takes too long."""
        if self._process is None:
            raise ServerFailed("a node that was never started isn't going to answer")
        self._process.wait_until(self._answers, patience=_PATIENCE)

    def start(self) -> None:
        """Launch and wait, with the data that is there."""
        self.launch()
        self.wait()

    def stop(self) -> None:
        """End as a good administrator would."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End at once, as if the machine had failed."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Stand still, with all connections open, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on as if nothing had been."""
        self._signal(signal.SIGCONT)

    @property
    def pid(self) -> int:
        """The number of the process that runs now."""
        if self._process is None:
            raise ServerFailed("a node that doesn't run has no process")
        return self._process.server_pid

    def leave(self) -> None:
        """Part from a running node: it ends, and its data goes, when nobody holds its folder any more."""
        if self._process is not None:
            self._process.leave()
        self.folder.release()

    def close(self) -> None:
        """End, and delete the data."""
        self._end(signal.SIGKILL)
        self.folder.remove()

    def _signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.end(how)
            self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self.address, self.port), timeout=_ANSWER_SECONDS):
                return True
        except OSError:
            return False


class CassandraCluster(Entered):
    """Nodes that know each other. Should this process die, they end and their data goes too."""

    def __init__(self, size: int = 1, settings: Mapping[str, str] | None = None, *, short_lived: bool = False) -> None:
        """One that is *short_lived* starts sooner, and isn't the one to measure."""
        installed_jars()
        # A network of one's own among the sixty thousand of loopback: nobody else is there, on whatever port.
        network = f"127.{1 + secrets.randbelow(254)}.{secrets.randbelow(256)}"
        addresses = [f"{network}.{number}" for number in range(1, size + 1)]
        self.port, storage_port = free_port(), free_port()
        seeds = [f"{address}:{storage_port}" for address in addresses]
        self.nodes = [
            CassandraNode(
                address,
                self.port,
                {
                    **DEFAULTS,
                    "initial_token": f'"{-(2**63) + 1 + number * (2**64 // size)}"',
                    "listen_address": address,
                    "rpc_address": address,
                    "storage_port": str(storage_port),
                    "native_transport_port": str(self.port),
                    **(settings or {}),
                },
                seeds,
                _HEAPS[size > 1],
                short_lived=short_lived,
            )
            for number, address in enumerate(addresses)
        ]
        self.folder: ServerFolder = self.nodes[0].folder
        """Who shares a cluster, which is then of one node, holds it by this one."""

    def url(self, keyspace: str = "mainspring") -> str:
        """Where clients find *keyspace* on this cluster, replicated as well as it can be."""
        hosts = ",".join(node.address for node in self.nodes)
        replication = min(len(self.nodes), 3)
        return f"cassandra://{hosts}:{self.port}/{keyspace}?datacenter={DATACENTER}&replication={replication}"

    def start(self) -> None:
        """Return when every node answers."""
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait()

    def leave(self) -> None:
        """Part from a running cluster of one node, which others share."""
        for node in self.nodes:
            node.leave()

    def close(self) -> None:
        """End all nodes and delete their data."""
        for node in self.nodes:
            node.close()
