"""`/api/v1/metrics`, `/api/v1/metrics/executions` and, for collectors, `/metrics`."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict

from mainspring.api.body import answer
from mainspring.api.caller import Requester
from mainspring.api.counting import Requests
from mainspring.api.exposition import cluster_metrics, process_metrics
from mainspring.api.figures import shown_figures
from mainspring.api.operations import operation
from mainspring.api.parameters import Text
from mainspring.api.ports import ApiPorts
from mainspring.api.schemas.cluster import Metrics
from mainspring.api.schemas.executions import Statistics
from mainspring.api.statistics import statistics
from mainspring.errors import MainspringError
from mainspring.ports.sessions import Role

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class WindowQuery(BaseModel):
    """Which time to look at."""

    model_config = ConfigDict(extra="forbid")

    window: Text = "1h"


def metrics_router(ports: ApiPorts) -> APIRouter:
    """The figures as JSON."""
    router = APIRouter(prefix="/metrics", tags=["cluster"])

    @router.get("", **operation("Show figures since the store began", Metrics))
    async def get_metrics(caller: Requester) -> Response:
        figures = await ports.views.figures()
        workers = await ports.sessions.live(Role.WORKER)
        schedulers = await ports.sessions.live(Role.SCHEDULER)
        return answer(shown_figures(figures, caller, workers, schedulers))

    @router.get("/executions", **operation("Show what became of the executions of a window", Statistics))
    async def get_execution_statistics(query: Annotated[WindowQuery, Query()], caller: Requester) -> Response:
        return answer(await statistics(ports.views, query.window, caller.visible))

    return router


def exposition_router(ports: ApiPorts, requests: Requests, *, cluster: bool) -> APIRouter:
    """`/metrics` as collectors read it; what belongs to the whole *cluster* only the API shows."""
    router = APIRouter(tags=["probes"])

    @router.get("/metrics", summary="Show metrics to a collector", response_class=PlainTextResponse)
    async def scrape() -> Response:
        lines = [*process_metrics(requests)]
        if cluster:
            try:
                figures = await ports.views.figures()
                workers = await ports.sessions.live(Role.WORKER)
                lines += ["mainspring_store_up 1", *cluster_metrics(figures, workers)]
            except MainspringError:
                lines.append("mainspring_store_up 0")
        return Response("\n".join(lines) + "\n", media_type=_TEXT)

    return router
