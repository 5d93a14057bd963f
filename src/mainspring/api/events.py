"""`/api/v1/events`: what changes, as it changes, by server-sent events."""

import asyncio
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict
from starlette.types import Receive, Scope, Send

from mainspring.api.caller import Requester
from mainspring.api.follower import Follower, TooManyStreams
from mainspring.api.ports import ApiPorts
from mainspring.api.problems import problem
from mainspring.api.stream import Stream
from mainspring.api.telling import Audience
from mainspring.domain.ids import JobId
from mainspring.errors import NotFound
from mainspring.ports.changes import Position

PATIENCE = 30.0
"""Seconds in which a reader must take something before it is cut off."""
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_STREAM = {"description": "Events, until one side has enough.", "content": {"text/event-stream": {}}}
_ABOUT = """\
The types are `run`, `job` and `worker` for what changed, as it is now; `counts` in their place while more than 200
changes come in a second; `reset` when what was missed can't be told any more; `slow` as the last event to a reader
that can't keep up. After `counts` and `reset`, read again what you need. Send the last `id` that you saw as
`Last-Event-ID` to go on from there: ends of runs and edits of jobs are told at least once. With `job_id`, only that
job and its runs are told, one by one.
"""


class EventQuery(BaseModel):
    """Which events to hear."""

    model_config = ConfigDict(extra="forbid")

    job_id: UUID | None = None


class EventStream(Response):
    """Events of one audience until the reader leaves, is too slow, or the process ends."""

    media_type = "text/event-stream"

    def __init__(self, follower: Follower, audience: Audience, after: Position | None) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._follower = follower
        self._audience = audience
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Join before answering, so that nothing is missed from the first byte on."""
        try:
            stream, first = await self._follower.join(self._audience, self._after)
        except TooManyStreams as error:
            refusal = problem(503, "too_many_streams", "Too many streams are open", str(error))
            await refusal(scope, receive, send)
            return
        leaving = asyncio.create_task(_leave(receive, stream))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await self._pass_on(stream, first, send)
        except TimeoutError:
            return  # it takes nothing: there is nobody to say anything to
        finally:
            self._follower.leave(self._audience, stream)
            leaving.cancel()

    async def _pass_on(self, stream: Stream, first: bytes, send: Send) -> None:
        text: bytes | None = first
        while text is not None:
            async with asyncio.timeout(PATIENCE):
                await send({"type": "http.response.body", "body": text, "more_body": True})
            text = await stream.next()
        async with asyncio.timeout(PATIENCE):
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _leave(receive: Receive, stream: Stream) -> None:
    """End the stream when its reader has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.end()


def events_router(ports: ApiPorts, most_streams: int) -> APIRouter:
    """The endpoint over *ports*, for *most_streams* readers at a time."""
    router = APIRouter()
    follower = Follower(
        changes=ports.changes, sessions=ports.sessions, clock=ports.clock, ending=ports.ending, most=most_streams
    )

    @router.get("/events", summary="Follow changes", description=_ABOUT, responses={200: _STREAM})
    async def events(
        caller: Requester,
        query: Annotated[EventQuery, Query()],
        last_event_id: Annotated[str | None, Header(max_length=200)] = None,
    ) -> Response:
        if query.job_id is not None:
            record = await ports.views.job(JobId(query.job_id))
            if record is None:
                raise NotFound(f"there is no job {query.job_id}")
            caller.check(record.job.owner, f"job {query.job_id}")
        after = Position(last_event_id) if last_event_id else None
        return EventStream(follower, Audience(caller.visible, query.job_id), after)

    return router
