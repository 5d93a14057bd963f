"""The web application, put together from the ports that it is given."""

from fastapi import APIRouter, FastAPI

from mainspring.api import problems
from mainspring.api.access import ON_LOOPBACK, Access
from mainspring.api.credentials import Credentials
from mainspring.api.executions import executions_router
from mainspring.api.guard import LOOPBACK_NAMES, Guard
from mainspring.api.health import health_router, probes_router
from mainspring.api.jobs import jobs_router
from mainspring.api.limits import Limits
from mainspring.api.orders import orders_router
from mainspring.api.page import page_router
from mainspring.api.ports import ApiPorts
from mainspring.version import __version__


def create_app(
    ports: ApiPorts, *, hosts: frozenset[str] | None = LOOPBACK_NAMES, access: Access | None = ON_LOOPBACK
) -> FastAPI:
    """The whole API; requests that change something must name one of *hosts*, or any name if it is None.

    Without *access* nobody needs a key: for a program that calls the application itself, on a store of its own.
    """
    app = _bare_app(hosts)
    if access is not None:
        app.add_middleware(Limits, access=access, views=ports.views, clock=ports.clock)
        app.add_middleware(Credentials, access=access, keys=ports.keys, clock=ports.clock)
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
