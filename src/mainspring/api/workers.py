"""`/api/v1/workers`: who is alive, and who is to take no more work."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Response

from mainspring.api.body import answer
from mainspring.api.caller import Caller, Requester
from mainspring.api.operations import operation
from mainspring.api.representation import shown_worker, worker_status
from mainspring.api.schemas.cluster import Worker, WorkerList
from mainspring.api.services import Services
from mainspring.errors import NotFound
from mainspring.ports.sessions import Member, Role

Name = Annotated[str, Path(description="The worker's name, as `id` shows it.", examples=["worker-7"])]


def workers_router(services: Services) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(prefix="/workers", tags=["cluster"])
    sessions = services.ports.sessions

    async def named(name: str) -> Sequence[Member]:
        """The live sessions of that name: more than one for as long as a predecessor isn't known to be dead."""
        members = [member for member in await sessions.live(Role.WORKER) if member.name == name]
        if not members:
            raise NotFound(f"there is no live worker {name!r}")
        return members

    async def wish(caller: Caller, name: str, *, draining: bool) -> Response:
        before = await named(name)
        for member in before:
            await (sessions.drain(member.id) if draining else sessions.resume(member.id))
        after = await named(name)
        await services.trail.note(
            caller,
            "worker.drain" if draining else "worker.resume",
            f"worker:{name}",
            owner=caller.owner,
            before={"status": worker_status(before[-1])},
            after={"status": worker_status(after[-1])},
        )
        return answer(shown_worker(after[-1]))

    @router.get("", **operation("List live workers", WorkerList))
    async def list_workers() -> Response:
        members = await sessions.live(Role.WORKER)
        return answer({"items": [shown_worker(member) for member in members], "next": None})

    drain = operation("Let a worker take no more work, while its process goes on", Worker, errors=(404,))

    @router.post("/{worker_id:path}/drain", **drain)
    async def drain_worker(worker_id: Name, caller: Requester) -> Response:
        return await wish(caller, worker_id, draining=True)

    @router.post("/{worker_id:path}/resume", **operation("Let a worker take work again", Worker, errors=(404,)))
    async def resume_worker(worker_id: Name, caller: Requester) -> Response:
        return await wish(caller, worker_id, draining=False)

    return router
