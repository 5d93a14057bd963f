"""The web application, put together from the ports that it is given."""

from fastapi import APIRouter, FastAPI

from mainspring.api import problems
from mainspring.api.executions import executions_router
from mainspring.api.guard import LOOPBACK_NAMES, Guard
from mainspring.api.health import health_router, probes_router
from mainspring.api.jobs import jobs_router
from mainspring.api.orders import orders_router
from mainspring.api.page import page_router
from mainspring.api.ports import ApiPorts
from mainspring.version import __version__


def create_app(ports: ApiPorts, *, hosts: frozenset[str] | None = LOOPBACK_NAMES) -> FastAPI:
    """The whole API; requests that change something must name one of *hosts*, or any name if it is None."""
    app = _bare_app(hosts)
    native = APIRouter(prefix="/api/v1")
    for router in (jobs_router(ports), orders_router(ports), executions_router(ports), health_router(ports)):
        native.include_router(router)
    app.include_router(native)
    app.include_router(probes_router(ports))
    app.include_router(page_router(ports))
    return app


def create_probes(ports: ApiPorts) -> FastAPI:
    """What a role without the API shows on its port."""
    app = _bare_app(hosts=None)
    app.include_router(probes_router(ports))
    return app


def _bare_app(hosts: frozenset[str] | None) -> FastAPI:
    app = FastAPI(title="Mainspring", version=__version__, docs_url=None, redoc_url=None)
    app.add_middleware(Guard, hosts=hosts)
    problems.install(app)
    return app
