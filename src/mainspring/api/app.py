"""The web application, put together from the ports that it is given."""

from collections.abc import Sequence

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from mainspring.api import openapi, problems
from mainspring.api.access import LOOPBACK_NAMES, ON_LOOPBACK, Access
from mainspring.api.audit import audit_router
from mainspring.api.changes import changes_router
from mainspring.api.counting import Counting
from mainspring.api.credentials import Credentials
from mainspring.api.dashboard import dashboard_router
from mainspring.api.dead_letters import dead_letters_router
from mainspring.api.dialects.defaults import DEFAULTS, Defaults
from mainspring.api.dialects.lab import lab_router
from mainspring.api.dialects.lab_cluster import lab_cluster_router
from mainspring.api.dialects.submit import submit_router
from mainspring.api.docs import docs_router
from mainspring.api.events import events_router
from mainspring.api.executions import executions_router
from mainspring.api.guard import Guard
from mainspring.api.handlers import handlers_router
from mainspring.api.health import health_router, probes_router
from mainspring.api.jobs import jobs_router
from mainspring.api.key_management import keys_router
from mainspring.api.limits import Limits
from mainspring.api.locks import locks_router
from mainspring.api.metrics import exposition_router, metrics_router
from mainspring.api.orders import orders_router
from mainspring.api.ports import ApiPorts
from mainspring.api.schedules import schedules_router
from mainspring.api.services import Services
from mainspring.api.submitting import SubmitJob, batch_router
from mainspring.api.timeline import timeline_router
from mainspring.api.tracing import Traced
from mainspring.api.workers import workers_router
from mainspring.version import __version__

MOST_STREAMS = 5_000


def create_app(
    ports: ApiPorts,
    *,
    hosts: frozenset[str] | None = LOOPBACK_NAMES,
    access: Access | None = ON_LOOPBACK,
    defaults: Defaults = DEFAULTS,
    most_streams: int = MOST_STREAMS,
) -> FastAPI:
    """The whole API; requests must name one of *hosts*, or any name if it is None.

    Without *access* nobody needs a key: for a program that calls the application itself, on a store of its own.
    *defaults* are for jobs that are created with `schedule` in the lab's words; *most_streams*
    bounds the event streams that are open at once.
    """
    services = Services.over(ports, quota=0 if access is None else access.quota)
    app = _bare_app()
    # Each is put around those before it: the last is asked first.
    app.add_middleware(SubmitJob, services=services)
    app.add_middleware(Guard, hosts=hosts)
    if access is not None:
        if access.rate_per_second:
            app.add_middleware(Limits, per_second=access.rate_per_second, clock=ports.clock)
        app.add_middleware(Credentials, access=access, keys=ports.keys, clock=ports.clock)
    _observe(app, ports)
    for router in _native(services, most_streams):
        app.include_router(router, prefix="/api/v1")
    for dialect in (lab_router(services, defaults), lab_cluster_router(ports), submit_router(services)):
        app.include_router(dialect)
    for router in (
        probes_router(ports),
        exposition_router(ports, cluster=True),
        docs_router(app),
        dashboard_router(),
    ):
        app.include_router(router)
    openapi.describe(app)
    return app


def create_probes(ports: ApiPorts) -> FastAPI:
    """What a role without the API shows on its port."""
    app = _bare_app()
    app.add_middleware(Guard, hosts=None)
    _observe(app, ports)
    app.include_router(probes_router(ports))
    app.include_router(exposition_router(ports, cluster=False))
    return app


def _observe(app: FastAPI, ports: ApiPorts) -> None:
    """Around everything else: what is refused is counted, too."""
    app.add_middleware(Counting, measurements=ports.measurements, clock=ports.clock, tracing=ports.tracing)
    if ports.tracing.enabled:
        app.add_middleware(Traced, tracing=ports.tracing)


def _native(services: Services, most_streams: int) -> Sequence[APIRouter]:
    return (
        batch_router(services),
        jobs_router(services),
        changes_router(services),
        orders_router(services),
        executions_router(services),
        dead_letters_router(services),
        schedules_router(services),
        locks_router(services),
        audit_router(services),
        keys_router(services),
        events_router(services.ports, most_streams),
        metrics_router(services.ports),
        timeline_router(services.ports),
        handlers_router(services.ports),
        health_router(services.ports),
        workers_router(services),
    )


def _bare_app() -> FastAPI:
    app = FastAPI(
        title="Mainspring",
        version=__version__,
        openapi_url=None,  # the page's router gives the document
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        generate_unique_id_function=_name,
    )
    problems.install(app)
    return app


def _name(route: APIRoute) -> str:
    return route.name
