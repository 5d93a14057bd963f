"""Server-sent events, line by line (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

import json
from typing import Any

from mainspring.client.models import Event


class EventReader:
    """Makes events of the lines of a stream, and remembers where to go on."""

    def __init__(self, last_event_id: str | None = None) -> None:
        self.last_event_id = last_event_id
        self.retry_ms: int | None = None
        """The pause before a new connection that the server asked for."""
        self._next_id = last_event_id
        """Counts once its event is complete: whoever goes on after it must have seen it."""
        self._type = ""
        self._data: list[str] = []

    def feed(self, line: str) -> Event | None:
        """Take one line without its end; an empty one completes an event, if there was one."""
        if not line:
            return self._complete()
        if not line.startswith(":"):
            name, _, value = line.partition(":")
            self._take(name, value.removeprefix(" "))
        return None

    def break_off(self) -> None:
        """Forget an event that the connection ended in the middle of."""
        self._type, self._data, self._next_id = "", [], self.last_event_id

    def _take(self, name: str, value: str) -> None:
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._next_id = value
        elif name == "retry" and value.isdecimal():
            self.retry_ms = int(value)

    def _complete(self) -> Event | None:
        kind, lines = self._type or "message", self._data
        self.last_event_id = self._next_id
        self.break_off()
        if not lines:
            return None
        return Event(id=self.last_event_id or "", type=kind, data=_parsed("\n".join(lines)))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
