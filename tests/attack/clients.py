"""Users who submit under keys, are cut off in the midst of a request, and repeat it until they are answered."""

import asyncio
import contextlib
import json
import random
from collections.abc import Mapping
from typing import Any

from tests.attack.target import JOBS, PAUSE

ABORTED = 0.25
"""The part of all requests that are cut off, at a random time up to `LONGEST`."""
LONGEST = 0.03
UNANSWERED = 10.0
"""Seconds after which a client gives a connection up."""


class Clients:
    """Submits jobs one by one or in batches; knows what was acknowledged under which key."""

    def __init__(self, port: int, payload: Mapping[str, Any], chance: random.Random) -> None:
        self._port = port
        self._payload = payload
        self._chance = chance
        self.acknowledged: dict[str, str] = {}
        self.requests = 0
        self.aborted = 0
        self.contradictions: list[str] = []
        """Keys that were answered with two ids."""

    async def submit(self, prefix: str, jobs: int, batch: int) -> None:
        """Submit so many jobs under keys that begin like this, so many at a time."""
        for first in range(0, jobs, batch):
            await self._until_answered([f"{prefix}-{number}" for number in range(first, min(first + batch, jobs))])

    async def _until_answered(self, keys: list[str]) -> None:
        answered = False
        while not answered or self._chance.random() < ABORTED:  # some ask again although they know
            ids = await self._ask(keys)
            if ids is None:
                await asyncio.sleep(PAUSE / 5)
                continue
            answered = True
            for key, identity in zip(keys, ids, strict=True):
                if self.acknowledged.setdefault(key, identity) != identity:
                    self.contradictions.append(key)

    async def _ask(self, keys: list[str]) -> list[str] | None:
        """The ids, or None when it isn't known whether the jobs are there."""
        jobs = [{"handler": "sink.deliver", "payload": self._payload, "key": key} for key in keys]
        path, body = (JOBS, jobs[0]) if len(jobs) == 1 else (f"{JOBS}/batch", {"jobs": jobs})
        self.requests += 1
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(UNANSWERED):
                status, answer = await self._exchange(path, json.dumps(body).encode())
            if status in (200, 201):
                found = json.loads(answer)
                return [item["id"] for item in found.get("items", [found])]
            assert status in (429, 503), answer
        return None

    async def _exchange(self, path: str, body: bytes) -> tuple[int, bytes]:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            sent = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
            if self._chance.random() < ABORTED:
                writer.write(sent[: self._chance.choice((len(sent), len(sent) // 2))])
                await asyncio.sleep(self._chance.uniform(0, LONGEST))
                self.aborted += 1
                raise ConnectionAbortedError
            writer.write(sent)
            answer = await reader.read()
        finally:
            writer.transport.abort()  # as the kernel does for a process that was killed
        head_of_answer, found, text = answer.partition(b"\r\n\r\n")
        if not found:
            raise ConnectionResetError
        return int(head_of_answer[9:12]), text
