"""A reader who pastes a document's commands into a terminal: nothing is changed in them but the port."""

import re
import shlex
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import httpx

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds after which something that should have happened won't any more."""
_BETWEEN_LOOKS = 0.05
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_LOCAL = re.compile(r"http://localhost:(\d+)")


class Reader:
    """Pastes `curl` lines; *ports* are those of the document, each with the one that it has here."""

    def __init__(self, ports: Mapping[int, int]) -> None:
        self._ports = ports
        self._client = httpx.Client(timeout=PATIENCE)

    def close(self) -> None:
        self._client.close()

    def curl(self, line: str) -> httpx.Response:
        """The answer to a line that begins with `curl`, as it stands in the document."""
        words = iter(shlex.split(line.replace("\\\n", " ")))
        assert next(words) == "curl"
        method, headers, data, url = None, {}, None, None
        for word in words:
            if word == "-X":
                method = next(words)
            elif word == "-H":
                name, _, value = next(words).partition(":")
                headers[name.strip()] = value.strip()
            elif word == "-d":
                data = next(words)
            elif word != "-s":
                url = word
        assert url is not None, line
        method = method or ("GET" if data is None else "POST")
        return self._client.request(method, self.here(url), headers=headers, content=data)

    def json(self, line: str, status: int) -> Any:
        """The same as JSON, once the status is the one that is promised."""
        response = self.curl(line)
        assert response.status_code == status, response.text
        return response.json()

    def here(self, text: str) -> str:
        """A text whose documented ports are ours."""
        return _LOCAL.sub(lambda found: f"http://localhost:{self._ports[int(found[1])]}", text)

    def metric(self, port: int, name: str, **labels: str) -> float:
        """The sum of the samples with that name and these labels; 0 if there are none."""
        samples = _SAMPLE.findall(self.curl(f"curl http://localhost:{port}/metrics").text)
        return sum(
            float(value)
            for found, given, value in samples
            if found == name and labels.items() <= dict(_LABEL.findall(given)).items()
        )


def until(look: Callable[[], T], good: Callable[[T], object]) -> T:
    """What *look* finds, once it is *good*; what else is there to do than to look again, as the documents do."""
    deadline = time.monotonic() + PATIENCE
    while not good(found := look()):
        assert time.monotonic() < deadline, found
        time.sleep(_BETWEEN_LOOKS)
    return found
