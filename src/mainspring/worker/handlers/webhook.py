"""`http.webhook`: call an HTTP endpoint once per attempt.

Payload: `url`; `method` (POST); `headers`; `body` (any JSON value, sent as JSON; text is sent as it is if a
Content-Type is given; null sends none; left out, it describes the run); `timeout` in milliseconds (30000; the run's
own timeout ends it too, whichever is earlier). Result: `status`, the first 64 KiB of the answer as `body`, and whether
it was `truncated`. An answer that is longer than 1 MiB is cut off there: its status has come, so the call counts.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.ports.time import Clock
from mainspring.ports.tracing import UNTRACED, Tracing
from mainspring.worker.context import Context
from mainspring.worker.flow import Fail
from mainspring.worker.handlers.client_span import calling, note
from mainspring.worker.handlers.policy import NetworkPolicy
from mainspring.worker.handlers.request import Request, read_request
from mainspring.worker.handlers.response import Answer, judge_answer
from mainspring.worker.handlers.signature import signed_headers
from mainspring.worker.handlers.stopping import stoppable
from mainspring.worker.handlers.target import Resolve, lacking, resolve_checked

if TYPE_CHECKING:
    import aiohttp

KEPT_OF_ANSWER = 64 * 1024
READ_OF_ANSWER = 1024 * 1024


class Webhook:
    """The handler. One session serves all runs of a worker; `close` it when the last has ended."""

    def __init__(
        self,
        *,
        network: NetworkPolicy,
        key: bytes | None,
        clock: Clock,
        resolve: Resolve,
        tracing: Tracing = UNTRACED,
    ) -> None:
        self._network = network
        self._key = key
        self._clock = clock
        self._resolve = resolve
        self._tracing = tracing
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, payload: Any, context: Context) -> Mapping[str, Any]:
        """Send the request and judge the answer."""
        request = read_request(payload, context)
        with calling(self._tracing, request, context.traceparent) as (traced, span):
            answer = await stoppable(context, self._call(traced, str(context.run_id)))
            note(span, answer)
        return judge_answer(answer, request.target.host, self._clock.now())

    async def close(self) -> None:
        """End the session; a later call opens another."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _call(self, request: Request, message: str) -> Answer:
        # Most processes never call a webhook, and loading the HTTP client would make each of them start later.
        from mainspring.worker.handlers.transport import ClientError, ConnectingFailed, connecting_only_to  # noqa: PLC0415

        host = request.target.host
        try:
            async with asyncio.timeout(request.timeout.total_seconds()):
                addresses = await resolve_checked(request.target, self._network, self._resolve)
                with connecting_only_to(addresses):
                    return await self._send(request, message)
        except TimeoutError:
            raise Fail(f"no complete answer from {host} within {request.timeout.total_seconds():g} s") from None
        except (ClientError, OSError) as error:
            # Once there is a connection the receiver may have acted: that attempt counts.
            if isinstance(error, ConnectingFailed) and (lack := lacking(error.os_error)) is not None:
                raise lack from None
            raise Fail(f"the call to {host} failed: {str(error) or type(error).__name__}") from None

    async def _send(self, request: Request, message: str) -> Answer:
        from mainspring.worker.handlers.transport import open_session  # noqa: PLC0415 - see `_call`

        if self._session is None:
            self._session = open_session()
        signed = signed_headers(self._key, message, self._clock.now(), request.body)
        async with self._session.request(
            request.method,
            request.target.url,
            headers={**request.headers, **signed},
            data=request.body or None,
            allow_redirects=False,
        ) as response:
            return await _read(response)


async def _read(response: "aiohttp.ClientResponse") -> Answer:
    kept = bytearray()
    length = 0
    async for chunk in response.content.iter_any():
        kept += chunk[: KEPT_OF_ANSWER - len(kept)]
        length += len(chunk)
        if length > READ_OF_ANSWER:
            # Without this, leaving the response would politely read the rest, which may have no end.
            response.close()
            break
    return Answer(
        status=response.status,
        body=kept.decode(errors="replace"),
        truncated=length > len(kept),
        retry_after=response.headers.get("Retry-After"),
    )
