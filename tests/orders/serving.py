"""The checkout service as a process of its own, and a look into its tables."""

import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import psycopg

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
_LISTENS = re.compile(r"running on (http://\S+)")
_PREFIXES = ("PG_", "ORDERS_", "MAINSPRING_")
RED, BLUE = "SKU-RED-TSHIRT", "SKU-BLUE-TSHIRT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a service keeps its orders, and how it is told so."""

    folder: Path
    url: str | None = None
    """Of PostgreSQL; without one it is SQLite, in *folder*."""

    @property
    def arguments(self) -> tuple[str, ...]:
        return ("--sqlite",) if self.url is None else ()

    @property
    def variables(self) -> Mapping[str, str]:
        always = {"MAINSPRING_DATA": str(self.folder), "ORDERS_HTTP_PORT": "0"}
        if self.url is None:
            return always
        url = urlsplit(self.url)
        given = {"PG_HOST": url.hostname, "PG_PORT": url.port, "PG_USER": url.username, "PG_PASSWORD": url.password}
        named = {name: unquote(str(value)) for name, value in given.items() if value is not None}
        return always | named | {"PG_DB": url.path.removeprefix("/")}

    def execute(self, statement: str) -> None:
        """Change something behind the service's back."""
        if self.url is None:
            with closing(sqlite3.connect(self.folder / "orders.db", isolation_level=None)) as file:
                file.execute(statement)
        else:
            with psycopg.connect(self.url, autocommit=True) as server:
                server.execute(statement.encode())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        if self.url is None:
            with closing(sqlite3.connect(self.folder / "orders.db")) as file:
                return file.execute(query).fetchall()
        with psycopg.connect(self.url) as server:
            return server.execute(query.encode()).fetchall()

    def stock(self, sku: str) -> tuple[int, int]:
        """How many pieces there are, and which version of the row says so."""
        [(quantity, version)] = self.rows(f"SELECT quantity, version FROM inventory WHERE sku = '{sku}'")  # noqa: S608
        return quantity, version

    def restock(self, sku: str, quantity: int) -> None:
        self.execute(f"UPDATE inventory SET quantity = {quantity}, version = 0 WHERE sku = '{sku}'")  # noqa: S608


class Service:
    """A running service."""

    def __init__(self, place: Place) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIXES)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "examples.orders", *place.arguments],
            cwd=ROOT,
            env={**clean, **place.variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._said: list[str] = []
        self._heard = threading.Condition()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def url(self) -> str:
        """Where it listens, once it does."""

        def found() -> str | None:
            return next((match[1] for line in self._said if (match := _LISTENS.search(line))), None)

        with self._heard:
            self._heard.wait_for(lambda: found() or self.process.poll() is not None, PATIENCE)
            where = found()
        assert where, "".join(self._said)
        return where

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        self._reading.join(PATIENCE)

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            for line in self.process.stderr:
                with self._heard:
                    self._said.append(line)
                    self._heard.notify_all()
        self.process.wait(PATIENCE)
        with self._heard:
            self._heard.notify_all()


@contextmanager
def served(place: Place) -> Iterator[Service]:
    """`python -m examples.orders`; whatever is left of it in the end is killed."""
    service = Service(place)
    try:
        yield service
    finally:
        service.kill()


def checkout(key: str, *items: tuple[str, int], user: str = "u1") -> dict[str, Any]:
    wanted = [{"sku": sku, "qty": pieces, "priceCents": 1999} for sku, pieces in items or ((RED, 1),)]
    return {"idempotencyKey": key, "userId": user, "items": wanted}


def client(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, timeout=PATIENCE)
