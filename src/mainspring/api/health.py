"""Whether all is well: for people, for load balancers and for whoever started us."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from mainspring.api.body import answer
from mainspring.api.caller import Requester
from mainspring.api.figures import totals, visible_tallies
from mainspring.api.operations import operation
from mainspring.api.ports import ApiPorts
from mainspring.api.representation import instant
from mainspring.api.schemas.cluster import Health
from mainspring.errors import MainspringError
from mainspring.ports.pipes import Pipe
from mainspring.ports.sessions import Role

_AWAY = 503


def health_router(ports: ApiPorts) -> APIRouter:
    """`/api/v1/health`."""
    router = APIRouter(tags=["cluster"])

    described = operation("Say whether all is well; 503 if the store is away", Health)
    described["responses"][_AWAY]["content"] |= described["responses"][200]["content"]

    @router.get("/health", **described)
    async def get_health(caller: Requester) -> Response:
        try:
            now = await ports.views.now()
            figures = await ports.views.figures()
            workers = await ports.sessions.live(Role.WORKER)
            schedulers = await ports.sessions.live(Role.SCHEDULER)
        except MainspringError as error:
            database = {"status": "down", "detail": str(error)}
            return answer({"status": "unhealthy", "database": database, "pipes": _shown(ports.pipes())}, _AWAY)
        known = [("store", ports.full()), ("API", ports.crowded())]
        known += [(f"worker {member.name}", member.trouble) for member in workers]
        troubles = [(subject, detail) for subject, detail in known if detail is not None]
        queue = totals(visible_tallies(figures, caller))
        return answer(
            {
                "status": "degraded" if troubles else "healthy",
                "database": {"status": "up", "time": instant(now)},
                "queue": {
                    "status": "up",
                    "live": queue["live"],
                    "running": queue["running"],
                    "dead_letters": None if caller.isolated else figures.dead_letters,
                },
                "workers": len(workers),
                "schedulers": len(schedulers),
                "pipes": _shown(ports.pipes()),
                "troubles": [{"subject": subject, "detail": detail} for subject, detail in troubles],
            }
        )

    return router


def _shown(pipes: Sequence[Pipe]) -> list[dict[str, Any]]:
    return [
        {
            "purpose": pipe.purpose,
            "url": pipe.url,
            "status": "up" if pipe.connected else "down",
            "since": instant(pipe.since),
            "detail": pipe.error,
        }
        for pipe in pipes
    ]


def probes_router(ports: ApiPorts) -> APIRouter:
    """`/healthz` and `/readyz`, on every role."""
    router = APIRouter(tags=["probes"], default_response_class=PlainTextResponse)

    @router.get("/healthz", summary="Say OK while the store answers", responses={_AWAY: {"description": "It doesn't"}})
    async def healthz() -> Response:
        try:
            await ports.views.now()
        except MainspringError as error:
            return PlainTextResponse(str(error), _AWAY)
        return PlainTextResponse("OK")

    @router.get("/readyz", summary="Say READY once all is up", responses={_AWAY: {"description": "It isn't"}})
    async def readyz() -> Response:
        full = ports.full()
        if full is not None:
            return PlainTextResponse(f"NOT READY: {full}", _AWAY)
        return PlainTextResponse("READY") if ports.ready() else PlainTextResponse("NOT READY", _AWAY)

    return router
