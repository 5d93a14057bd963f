# Written by scripts/write_blocking.py from src/mainspring/client/asynchronous/connection.py. Don't edit.
"""Requests to one server, each repeated until it is answered or patience is at its end."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx

from mainspring.client.concurrency import sleep
from mainspring.client.errors import ClientError, UnexpectedAnswer, Unreachable, error_of
from mainspring.client.reasons import reason
from mainspring.client.retrying import TRANSIENT, Retrying, problem_of
from mainspring.client.tracing import add_trace

PREFIX = "/api/v1"
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=64)
_FIRST_ERROR = 400


class Connection:
    """Everything that is sent goes through here, with the same key, owner and patience."""

    number: Callable[[str], Any] | None = None
    """What becomes of a number with a fraction or an exponent in an answer; a float, unless somebody says otherwise."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout: timedelta,
        retrying: Retrying,
        transport: httpx.BaseTransport | None,
    ) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout.total_seconds()
        self._retrying = retrying
        self._http = httpx.Client(
            base_url=self.url, headers=dict(headers), timeout=self._timeout, transport=transport, limits=_LIMITS
        )

    def close(self) -> None:
        """Close every connection."""
        self._http.close()

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Any:
        """What is there, as parsed JSON."""
        return self.send("GET", path, params=params)

    def post(self, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Ask for something; with a *key* the server does it once, however often it is asked."""
        return self.send("POST", path, body=body, headers={} if key is None else {"Idempotency-Key": key})

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send it until it is answered; only for requests that do no harm when they arrive twice.

        A *body* of bytes is JSON already.
        """
        request = self._request(method, path, params, body, headers)
        tries = 0
        while True:
            tries += 1
            asked: timedelta | None = None
            try:
                response = self._http.send(request)
            except httpx.TransportError as error:
                failure: ClientError = Unreachable(self.url, reason(error, self.url), tries=tries)
            else:
                if response.status_code < _FIRST_ERROR:
                    return self._parsed(response)
                problem = problem_of(response.status_code, response.content, response.headers.get("Retry-After"))
                failure, asked = error_of(problem, tries=tries), problem.retry_after
                if response.status_code not in TRANSIENT:
                    raise failure
            pause = self._retrying.pause(tries, asked)
            if pause is None:
                raise failure
            sleep(pause)

    def ask_once(self, path: str, accepted: frozenset[int]) -> Any:
        """What is there, without patience; answers with one of the *accepted* statuses are as good as any."""
        try:
            response = self._http.get(PREFIX + path)
        except httpx.TransportError as error:
            raise Unreachable(self.url, reason(error, self.url), tries=1) from error
        if response.status_code >= _FIRST_ERROR and response.status_code not in accepted:
            retry_after = response.headers.get("Retry-After")
            raise error_of(problem_of(response.status_code, response.content, retry_after), tries=1)
        return self._parsed(response)

    @contextmanager
    def lines(
        self, path: str, params: Mapping[str, str], headers: Mapping[str, str], silence: timedelta
    ) -> Iterator[Iterator[str]]:
        """The lines of a stream that doesn't end; Unreachable after *silence*."""
        timeout = httpx.Timeout(self._timeout, read=silence.total_seconds())
        try:
            with self._http.stream(
                "GET", PREFIX + path, params=params, headers=dict(headers), timeout=timeout
            ) as response:
                if response.status_code >= _FIRST_ERROR:
                    retry_after = response.headers.get("Retry-After")
                    raise error_of(problem_of(response.status_code, response.read(), retry_after), tries=1)
                yield response.iter_lines()
        except httpx.TransportError as error:
            raise Unreachable(self.url, reason(error, self.url), tries=1) from error

    def _request(
        self, method: str, path: str, params: Mapping[str, str] | None, body: Any, headers: Mapping[str, str] | None
    ) -> httpx.Request:
        content, merged = None, dict(headers or {})
        if body is not None:
            content = body if isinstance(body, bytes) else _written(body)
            merged["Content-Type"] = "application/json"
        add_trace(merged)
        return self._http.build_request(method, PREFIX + path, params=params, content=content, headers=merged)

    def _parsed(self, response: httpx.Response) -> Any:
        if not response.content:
            return None
        try:
            return json.loads(response.content, parse_float=self.number)
        except ValueError:
            raise UnexpectedAnswer(f"{response.url} answered with something else than JSON") from None


def _written(body: Any) -> bytes:
    """By Python's own writer: integers of any size, and NaN is refused here and not by the server."""
    return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
