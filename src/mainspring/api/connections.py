"""Bounds on connections: how many are open, how long a client may owe us something, and who goes when there is no room.

The newest connection is never refused: the oldest that waits for its client makes room for it, before all others one
that hasn't shown a valid key. So whoever holds connections only loses them, and a probe gets through.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain, takewhile
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from mainspring.api.caller import is_known
from mainspring.api.instruments import Counts, Family, Kind, Sample
from mainspring.api.pipelining import BoundedPipeline
from mainspring.logs import get_logger

HEAD_SECONDS = 10.0
"""How long a client may take to send a request's head, from when it connected or got the answer before."""
LINGER_SECONDS = 2.0
"""How long we read on after an answer that came before its request was whole, so that the client can read it."""
UNREAD_SECONDS = 60.0
"""How long a client may take nothing of an answer."""
STUCK_SECONDS = 10.0
"""How long an answer may take until it counts among those that make room."""
NEW_SECONDS = 0.1
"""How long a new connection is spared when another needs room: what its client sent may still be under way."""
MOST_HEAD = 65_536
"""Bytes of a request's head, or of what stands between the pieces of its body."""
SMALL = 65_536
"""A body up to this many bytes is read even if nobody wants it, so that the connection can be used again."""
WATCH_SECONDS = 5.0
REMIND_SECONDS = 60.0

_TOO_LARGE = json.dumps(
    {
        "type": "about:blank",
        "title": "The head is too long",
        "status": 431,
        "detail": f"a request's head may have {MOST_HEAD} bytes",
        "error": "head_too_long",
    }
).encode()
_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: application/problem+json\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_TOO_LARGE), _TOO_LARGE)
)

log = get_logger("mainspring.api")


class Reason(StrEnum):
    """Why we closed a connection."""

    IDLE = "idle"
    SLOW_HEAD = "slow_head"
    LONG_HEAD = "long_head"
    UNWANTED_BODY = "unwanted_body"
    UNREAD_ANSWER = "unread_answer"
    NO_ROOM = "no_room"
    ADDRESS = "address"
    NO_DESCRIPTORS = "no_descriptors"


class Connections:
    """The open connections of one server. Each is in one of three queues, the oldest first."""

    def __init__(self, most: int, most_per_address: int = 0) -> None:
        """At most *most* at a time, and of one address *most_per_address*; 0 for any number of one address."""
        self.most = most
        self.owing: dict[BoundedProtocol, None] = {}
        """They owe us a request or the rest of one, and have shown no valid key."""
        self.owing_known: dict[BoundedProtocol, None] = {}
        """They owe us the same, and have shown one."""
        self.answering: dict[BoundedProtocol, None] = {}
        """They wait for us."""
        self.arriving = 0
        """Those that were accepted, and don't have a protocol yet."""
        self._most_per_address = most_per_address
        self._addresses: Counter[str] = Counter()
        self._closed = Counts(
            "mainspring_connections_closed_total",
            "Connections that this process closed before their clients did, by reason.",
            ("reason",),
            [(reason.value,) for reason in Reason],
        )
        self._unread: dict[BoundedProtocol, tuple[int, float]] = {}
        self._watched_at = 0.0
        self._reminded_at: dict[Reason, float] = {}
        self._needed_room_at: float | None = None

    @property
    def open(self) -> int:
        """How many there are."""
        return self.arriving + len(self.owing) + len(self.owing_known) + len(self.answering)

    def families(self) -> Iterator[Family]:
        """What collectors are shown."""
        for name, text, value in (
            ("mainspring_connections", "Connections to this process that are open.", self.open),
            ("mainspring_connections_limit", "How many connections to this process may be open at once.", self.most),
        ):
            yield Family(name, Kind.GAUGE, text, [Sample({}, value)])
        yield self._closed.family()

    def enter(self, connection: "BoundedProtocol") -> None:
        """Take in one that was arriving; if its address has too many, the oldest that waits for it goes."""
        self.arriving -= 1
        self.owing[connection] = None
        connection.queue = self.owing
        if self._most_per_address:
            self._addresses[connection.address] += 1
            if self._addresses[connection.address] > self._most_per_address:
                waiting = chain(self.owing, self.owing_known)
                self.close(next(each for each in waiting if each.address == connection.address), Reason.ADDRESS)

    def leave(self, connection: "BoundedProtocol") -> None:
        """Forget a connection; twice changes nothing."""
        if connection not in connection.queue:
            return
        del connection.queue[connection]
        self._unread.pop(connection, None)
        if self._most_per_address:
            self._addresses[connection.address] -= 1
            if not self._addresses[connection.address]:
                del self._addresses[connection.address]

    def move(self, connection: "BoundedProtocol", queue: "dict[BoundedProtocol, None]") -> None:
        """Put an open connection at the end of a queue."""
        if connection in connection.queue:
            del connection.queue[connection]
            queue[connection] = None
            connection.queue = queue
            connection.since = connection.loop.time()

    def count(self, reason: Reason) -> None:
        """Note that a connection is closed."""
        self._closed.add(reason.value)

    def close(self, connection: "BoundedProtocol", reason: Reason) -> None:
        """Close it at once, whatever was still to be sent."""
        self.count(reason)
        self._abort(connection)

    @property
    def full(self) -> bool:
        """Whether there are as many as may be."""
        return self.open >= self.most

    def has_room(self, now: float) -> bool:
        """Whether another connection may come: if there are as many as may be, the one that is missed least goes."""
        return not self.full or self.spare_one(Reason.NO_ROOM, now)

    def spare_one(self, reason: Reason, now: float) -> bool:
        """Close the connection that is missed least; False if each of them is new, or is being answered."""
        self._needed_room_at = now
        if now - self._reminded_at.get(reason, -REMIND_SECONDS) >= REMIND_SECONDS:
            self._reminded_at[reason] = now
            log.warning("connections.full", reason=reason.value, open=self.open, most=self.most)
        while (nobodys := next(iter(self.owing), None)) is not None and nobodys.known:
            self.move(nobodys, self.owing_known)  # its key was checked while the rest of its request was awaited
        if nobodys is None and self.arriving:
            return False  # a flood of new ones mustn't cost those with a key theirs
        oldest = nobodys or next(iter(self.owing_known), None)
        if oldest is not None:
            if now - oldest.since < NEW_SECONDS:
                return False
            self.close(oldest, reason)
            return True
        for connection in self.answering:
            if now - connection.since < STUCK_SECONDS:
                break
            if not connection.known:
                self.close(connection, reason)
                return True
        return False

    def crowded(self, now: float) -> str | None:
        """What to tell people, if there was no room for another connection within the last minute."""
        if self._needed_room_at is None or now - self._needed_room_at > REMIND_SECONDS:
            return None
        return (
            f"this process has no room for more than {self.most} connections, and closes idle ones for new ones; see "
            "who holds them, or raise --max-connections or the limit of open files"
        )

    def abort_all(self) -> None:
        """Close all at once, so that whoever waits for a client, or answers one, learns that it has gone."""
        for connection in [*self.owing, *self.owing_known, *self.answering]:
            self._abort(connection)

    def sweep(self, now: float) -> None:
        """Close what has waited too long for its client."""
        for connection in [*self._older(self.owing, now), *self._older(self.owing_known, now)]:
            if connection.lingering:
                self._abort(connection)
            elif connection.awaits_head and now - connection.since >= HEAD_SECONDS and not connection.unsent:
                self.close(connection, Reason.SLOW_HEAD)
        if now - self._watched_at >= WATCH_SECONDS:
            self._watched_at = now
            for connection in [*self.owing, *self.owing_known, *self.answering]:
                self._watch(connection, now)

    def _older(self, queue: "dict[BoundedProtocol, None]", now: float) -> "Iterator[BoundedProtocol]":
        return takewhile(lambda each: now - each.since >= LINGER_SECONDS, queue)

    def _watch(self, connection: "BoundedProtocol", now: float) -> None:
        """Close a connection whose client takes nothing of what was written for it."""
        length = connection.unsent
        before, since = self._unread.get(connection, (0, now))
        if not length:
            self._unread.pop(connection, None)
        elif length != before:
            self._unread[connection] = (length, now)
        elif now - since >= UNREAD_SECONDS:
            self.close(connection, Reason.UNREAD_ANSWER)

    def _abort(self, connection: "BoundedProtocol") -> None:
        self.leave(connection)
        connection.transport.abort()


class BoundedProtocol(BoundedPipeline):
    """HTTP/1.1 as the server speaks it, under bounds."""

    def __init__(self, config: Config, server_state: ServerState, connections: Connections) -> None:
        super().__init__(config, server_state, {})
        self.queue: dict[BoundedProtocol, None] = {}
        self.since = self.loop.time()
        """When it came into its queue."""
        self.awaits_head = True
        self.lingering = False
        self._connections = connections
        self._known = False
        self._cycles: list[RequestResponseCycle] = []
        """Requests whose heads are here and whose answers aren't complete, in order."""
        self._nothing = 0
        """Bytes that came and were neither a whole head nor a piece of a body."""
        self._keeps_alive = False
        self._stopping = False
        self._deaf = False
        """Whether what still comes is of no use to anybody."""

    @property
    def address(self) -> str:
        """The client's."""
        return "" if self.client is None else self.client[0]

    @property
    def known(self) -> bool:
        """Whether it has shown a valid key."""
        return self._known or any(is_known(cycle.scope) for cycle in self._cycles)

    @property
    def unsent(self) -> int:
        """Bytes of answers that the client hasn't taken yet."""
        return self.transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in its base class
        """Begin to answer on *transport*."""
        super().connection_made(transport)
        self._connections.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell every request that is here, and not the last alone, that nobody waits for its answer."""
        self._connections.leave(self)
        self.pipeline.clear()
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends, unless it is the rest of what nobody wants."""
        if not self._deaf:
            super().data_received(data)

    def parse(self, piece: bytes) -> None:
        """Parse a piece of what came, and close on one that leads nowhere."""
        if self._deaf:
            return
        self._nothing += len(piece)
        super().parse(piece)
        if self._nothing > MOST_HEAD:
            self._refuse()
        elif self._cycles and self.cycle.more_body and self.queue is self._connections.answering:
            self._await_body()

    def on_headers_complete(self) -> None:
        """Answer the request."""
        if self.parser.get_http_version() == "1.0":
            self.app = self._answer_unframed
        super().on_headers_complete()
        self.awaits_head = False
        self._nothing = 0
        self._keeps_alive = self.cycle.keep_alive
        self._cycles.append(self.cycle)
        self._connections.move(self, self._connections.answering)

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._nothing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole: the connection may be used again."""
        self._nothing = 0
        super().on_message_complete()
        if not self._cycles:
            self._await_head()
            return
        if isinstance(self.cycle.transport, _Lingering):
            self.cycle.transport = self.transport
            self.cycle.keep_alive = self._keeps_alive and not self._stopping
        if self.queue is not self._connections.answering:
            self._connections.move(self, self._connections.answering)

    def on_response_complete(self) -> None:
        """Wait for the next request, or answer it if it is here."""
        self._known = self._known or is_known(self._cycles.pop(0).scope)
        super().on_response_complete()
        if self._cycles:
            self._connections.move(self, self._connections.answering)
        else:
            self._await_head()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that isn't used any more."""
        if not self.transport.is_closing():
            self._connections.count(Reason.IDLE)
        super().timeout_keep_alive_handler()

    def shutdown(self) -> None:
        """Close after the answers that are under way."""
        self._stopping = True
        super().shutdown()

    def linger(self) -> None:
        """End our half, and take no notice of what comes: closed at once, the client might lose the answer."""
        self._connections.count(Reason.UNWANTED_BODY)
        self.lingering = self._deaf = True
        self._owe()
        self.unparsed = b""
        self.flow.resume_reading()
        self.transport.write_eof()

    def _await_head(self) -> None:
        self.awaits_head = True
        self._owe()

    def _await_body(self) -> None:
        """End the connection with the answer, unless the body comes first or what is left of it is little."""
        self._owe()
        length = dict(self.headers).get(b"content-length", b"")
        little = length.isdigit() and int(length[:20]) <= SMALL
        if not (little and self.cycle.keep_alive and not self.cycle.waiting_for_100_continue):
            self.cycle.keep_alive = False
            self.cycle.transport = _Lingering(self)

    def _owe(self) -> None:
        known = self.known if self._cycles else self._known
        self._connections.move(self, self._connections.owing_known if known else self._connections.owing)

    def _refuse(self) -> None:
        """Close on a head, or on what is between the pieces of a body, that has no end."""
        if self.transport.is_closing():
            return
        self._connections.count(Reason.LONG_HEAD)
        if self._cycles:
            self._end()
        else:
            self.transport.write(_REFUSAL)
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what isn't HTTP, unless another answer is due: the client would take this one for that."""
        if not self._cycles or (len(self._cycles) == 1 and self.cycle.more_body and not self.cycle.response_started):
            super().send_400_response(msg)
        else:
            self._end()

    def _end(self) -> None:
        """Close after the answers to the requests before; at once if the last of them will never be whole."""
        if self.cycle.more_body:
            self.transport.close()
        else:
            self._deaf = True
            self.cycle.keep_alive = False

    async def _answer_unframed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer HTTP/1.0, which knows no chunks: an answer of unknown length ends with the connection."""
        cycle = next(each for each in self._cycles if each.scope is scope)

        async def unframed(message: Any) -> None:
            cycle.chunked_encoding = False
            cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await self.config.loaded_app(scope, receive, unframed)


class _Lingering(asyncio.Transport):
    """The transport of an answer whose request isn't whole: it is closed with care."""

    def __init__(self, connection: BoundedProtocol) -> None:
        super().__init__()
        self._connection = connection

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._connection.transport.write(data)

    def is_closing(self) -> bool:
        return self._connection.transport.is_closing()

    def close(self) -> None:
        self._connection.linger()
