"""The connections to one cluster, and the bridge from the driver's thread to whichever loop waits for an answer."""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, ExecutionProfile, Session
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import dict_factory

from mainspring.adapters.cassandra.address import Address
from mainspring.adapters.cassandra.failures import THEIRS, translation, verdict_on_decision
from mainspring.errors import ConfigurationError

REQUEST_SECONDS = 10.0
"""Nothing that a store is asked for takes as long."""
SCHEMA_SECONDS = 60.0
CONNECT_SECONDS = 10.0
HEARTBEAT_SECONDS = 5.0
IMPATIENCE_SECONDS = 0.5
"""After which another node is asked for the same: one that stands still mustn't hold up who can ask its neighbour."""
PROTOCOL = 4
"""The newest that Cassandra and ScyllaDB share."""

Answer = Sequence[dict[str, Any]]


class Manner(Enum):
    """How a statement is run."""

    PLAIN = "plain"
    """By quorum; whatever is plain may be repeated."""
    SETTLED = "settled"
    """A read that ends what is under way first."""
    DECIDING = "deciding"
    """A conditional batch: sent once, whatever becomes of it."""
    SCHEMA = "schema"
    """A change of the tables, which takes its time."""


class Driver:
    """Shared by all threads and loops of a process; each loop has its own `Bridge` to it."""

    def __init__(self, address: Address, cluster: Cluster, session: Session) -> None:
        self.address = address
        self.cluster = cluster
        self.session = session

    @classmethod
    async def connect(cls, address: Address) -> "Driver":
        """Connect; StoreUnavailable if no node answers."""
        return await asyncio.to_thread(_connected, address)

    async def close(self) -> None:
        """Let all connections go."""
        await asyncio.to_thread(self.cluster.shutdown)


class Bridge:
    """Runs statements for one event loop; no thread waits meanwhile."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._loop = asyncio.get_running_loop()
        self._prepared: dict[str, Any] = {}
        self._preparing: dict[str, asyncio.Future[Any]] = {}
        self._arrived: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._woken = False

    async def prepared(self, text: str) -> Any:
        """The statement with this text, which servers are told once."""
        found = self._prepared.get(text)
        if found is not None:
            return found
        preparing = self._preparing.get(text)
        if preparing is None:
            preparing = asyncio.ensure_future(asyncio.to_thread(self._driver.session.prepare, text))
            self._preparing[text] = preparing
        try:
            # Whoever gives up waiting leaves the others what they wait for.
            found = self._prepared[text] = await asyncio.shield(preparing)
        except THEIRS as error:
            raise translation(error, self._driver.address.shown) from error
        finally:
            if preparing.done():
                self._preparing.pop(text, None)
        return found

    async def run(self, statement: Any, manner: Manner = Manner.PLAIN, *, host: Any = None) -> Answer:
        """The rows of a bound statement, a batch or a text; *host* asks one node in particular."""
        answer: asyncio.Future[Answer | None] = self._loop.create_future()
        try:
            asked = self._driver.session.execute_async(statement, execution_profile=manner, host=host)
            asked.add_callbacks(
                callback=self._receive,
                callback_args=(answer,),
                errback=self._fail,
                errback_args=(answer,),
            )
            rows = await answer
            # It and its timer refer to each other: all that was asked and answered would lie about until somebody looks
            # for such rings, which takes a fifth of a busy worker's time. The timer is stopped before an answer comes.
            asked._timer = None  # noqa: SLF001 - nothing public cuts the ring
            return rows or []
        except THEIRS as error:
            translate = verdict_on_decision if manner is Manner.DECIDING else translation
            raise translate(error, self._driver.address.shown) from error

    def _receive(self, rows: Answer, answer: "asyncio.Future[Any]") -> None:
        self._arrive(answer, rows, None)

    def _fail(self, error: BaseException, answer: "asyncio.Future[Any]") -> None:
        self._arrive(answer, None, error)

    def _arrive(self, answer: "asyncio.Future[Any]", rows: Any, error: BaseException | None) -> None:
        """On the driver's thread: one wake-up is enough for all that arrives until the loop has woken."""
        self._arrived.append((answer, rows, error))
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._hand_out)
            except RuntimeError:  # the loop has ended, and nobody waits any more
                self._arrived.clear()

    def _hand_out(self) -> None:
        self._woken = False  # first: what arrives from here on wakes the loop again
        while self._arrived:
            answer, rows, error = self._arrived.popleft()
            if answer.done():
                continue
            if error is None:
                answer.set_result(rows)
            else:
                answer.set_exception(error)


def _connected(address: Address) -> Driver:
    cluster = None
    try:
        cluster = Cluster(
            contact_points=list(address.hosts),
            port=address.port,
            protocol_version=PROTOCOL,
            auth_provider=_credentials(address),
            ssl_context=_tls(address) if address.tls else None,
            # Without it, every request over one segment waits 40 ms for an acknowledgement that isn't on its way.
            sockopts=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
            execution_profiles=_profiles(address),
            reconnection_policy=ExponentialReconnectionPolicy(0.5, 10.0),
            connect_timeout=CONNECT_SECONDS,
            control_connection_timeout=CONNECT_SECONDS,
            idle_heartbeat_interval=HEARTBEAT_SECONDS,
            idle_heartbeat_timeout=CONNECT_SECONDS,
            prepare_on_all_hosts=False,
            compression=False,
            application_name="mainspring",
            monitor_reporting_enabled=False,
        )
        session = cluster.connect()
        session.default_fetch_size = None  # every read says how much it wants, and gets it in one answer
        return Driver(address, cluster, session)
    except THEIRS as error:
        if cluster is not None:
            cluster.shutdown()
        raise translation(error, address.shown) from error


def _profiles(address: Address) -> dict[Manner, ExecutionProfile]:
    level = ConsistencyLevel.LOCAL_QUORUM if address.local else ConsistencyLevel.QUORUM
    serial = ConsistencyLevel.LOCAL_SERIAL if address.local else ConsistencyLevel.SERIAL
    nearby = RoundRobinPolicy() if address.datacenter is None else DCAwareRoundRobinPolicy(address.datacenter)
    # Not shuffled: decisions on one partition go to one node, where they don't get into each other's way.
    nodes = TokenAwarePolicy(nearby, shuffle_replicas=False)
    common = {
        "load_balancing_policy": nodes,
        "serial_consistency_level": serial,
        "row_factory": dict_factory,
    }
    once = {**common, "consistency_level": level, "retry_policy": FallthroughRetryPolicy()}
    repeatable = {
        **common,
        "request_timeout": REQUEST_SECONDS,
        "retry_policy": RetryPolicy(),
        "speculative_execution_policy": ConstantSpeculativeExecutionPolicy(IMPATIENCE_SECONDS, 2),
    }
    return {
        Manner.PLAIN: ExecutionProfile(consistency_level=level, **repeatable),
        Manner.SETTLED: ExecutionProfile(consistency_level=serial, **repeatable),
        Manner.DECIDING: ExecutionProfile(request_timeout=REQUEST_SECONDS, **once),
        Manner.SCHEMA: ExecutionProfile(request_timeout=SCHEMA_SECONDS, **once),
    }


def _credentials(address: Address) -> PlainTextAuthProvider | None:
    if address.user is None:
        return None
    return PlainTextAuthProvider(username=address.user, password=address.password or "")


def _tls(address: Address) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=address.authority)
        if address.certificate is not None:
            context.load_cert_chain(address.certificate, address.key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"the certificates that the URL names can't be used: {error}") from error
    return context
