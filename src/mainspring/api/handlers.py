"""GET `/api/v1/handlers`: what a job may name as its handler."""

from fastapi import APIRouter, Response

from mainspring.api.body import answer
from mainspring.api.operations import operation
from mainspring.api.ports import ApiPorts
from mainspring.api.schemas.cluster import HandlerList


def handlers_router(ports: ApiPorts) -> APIRouter:
    """The endpoint over *ports*."""
    router = APIRouter(prefix="/handlers", tags=["cluster"])

    @router.get("", **operation("List the handlers that are built in or that a worker has had", HandlerList))
    async def list_handlers() -> Response:
        registered = await ports.views.handlers()
        items = [
            {"name": name, "lane": lane, "builtin": name in ports.builtin, "registered": name in registered}
            for name, lane in sorted({**ports.builtin, **registered}.items())
        ]
        return answer({"items": items, "next": None})

    return router
