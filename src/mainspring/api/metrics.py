"""`/api/v1/metrics`, `/api/v1/metrics/executions` and, for collectors, `/metrics`."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict

from mainspring.api.body import answer
from mainspring.api.caller import Requester
from mainspring.api.cluster_metrics import cluster_metrics, due_runs, oldest_snapshot, store_up, waiting_suspects
from mainspring.api.exposition import format_for
from mainspring.api.figures import shown_figures
from mainspring.api.instruments import Family
from mainspring.api.metric_aliases import with_aliases
from mainspring.api.operations import operation
from mainspring.api.parameters import Text
from mainspring.api.ports import ApiPorts
from mainspring.api.schemas.cluster import Metrics
from mainspring.api.schemas.executions import Statistics
from mainspring.api.statistics import statistics
from mainspring.errors import MainspringError
from mainspring.ports.sessions import Role


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
        suspects = await ports.views.suspects()
        return answer(shown_figures(figures, suspects, caller, workers, schedulers))

    @router.get("/executions", **operation("Show what became of the executions of a window", Statistics))
    async def get_execution_statistics(query: Annotated[WindowQuery, Query()], caller: Requester) -> Response:
        return answer(await statistics(ports.views, query.window, caller.visible))

    return router


def exposition_router(ports: ApiPorts, *, cluster: bool) -> APIRouter:
    """`/metrics` as collectors read it; what belongs to the whole *cluster* only the API shows."""
    router = APIRouter(tags=["probes"])

    @router.get("/metrics", summary="Show metrics to a collector", response_class=PlainTextResponse)
    async def scrape(request: Request) -> Response:
        families = [*ports.measurements.families()]
        if cluster:
            families += await _cluster(ports)
        chosen = format_for(",".join(request.headers.getlist("accept")))
        return Response(chosen.write(with_aliases(families)), media_type=chosen.media_type)

    return router


async def _cluster(ports: ApiPorts) -> list[Family]:
    try:
        figures = await ports.views.figures()
        workers = await ports.sessions.live(Role.WORKER)
        schedulers = await ports.sessions.live(Role.SCHEDULER)
        due, suspects = await ports.views.due(), await ports.views.suspects()
        snapshot = None if ports.checkup is None else await ports.checkup.oldest_snapshot()
    except MainspringError:
        return [store_up(False)]
    return [
        store_up(True),
        due_runs(due),
        waiting_suspects(suspects),
        *([] if snapshot is None else [oldest_snapshot(snapshot)]),
        *cluster_metrics(figures, workers, schedulers),
    ]
