"""Whether all is well: for people, for load balancers and for whoever started us."""

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from mainspring.api.body import answer
from mainspring.api.ports import ApiPorts
from mainspring.api.representation import instant, shown_worker
from mainspring.errors import MainspringError
from mainspring.ports.sessions import Role

_AWAY = 503


def health_router(ports: ApiPorts) -> APIRouter:
    """`/api/v1/health` and `/api/v1/workers`."""
    router = APIRouter()

    @router.get("/health")
    async def health() -> Response:
        try:
            now = await ports.views.now()
            figures = await ports.views.figures()
            workers = await ports.sessions.live(Role.WORKER)
            schedulers = await ports.sessions.live(Role.SCHEDULER)
        except MainspringError as error:
            return answer({"status": "unhealthy", "database": {"status": "down", "detail": str(error)}}, _AWAY)
        return answer(
            {
                "status": "healthy",
                "database": {"status": "up", "time": instant(now)},
                "queue": {
                    "status": "up",
                    "live": sum(tally.live for tally in figures.tallies),
                    "running": figures.running,
                    "dead_letters": figures.dead_letters,
                },
                "workers": len(workers),
                "schedulers": len(schedulers),
            }
        )

    @router.get("/workers")
    async def workers() -> Response:
        members = await ports.sessions.live(Role.WORKER)
        return answer({"items": [shown_worker(member) for member in members], "next": None})

    return router


def probes_router(ports: ApiPorts) -> APIRouter:
    """`/healthz` and `/readyz`, on every role."""
    router = APIRouter()

    @router.get("/healthz")
    async def healthz() -> Response:
        try:
            await ports.views.now()
        except MainspringError as error:
            return PlainTextResponse(str(error), _AWAY)
        return PlainTextResponse("OK")

    @router.get("/readyz")
    async def readyz() -> Response:
        return PlainTextResponse("READY") if ports.ready() else PlainTextResponse("NOT READY", _AWAY)

    return router
