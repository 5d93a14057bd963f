"""Answering requests: by the API, or by the probes of a process that has none.

Nobody imports this before there is somebody to answer: a web framework takes longer to load than all the rest.
"""

import asyncio
from dataclasses import replace

from mainspring.api.app import create_app, create_probes
from mainspring.api.dialects.defaults import Defaults
from mainspring.api.ports import ApiPorts
from mainspring.wiring.builtin import SWITCHABLE, builtin_handlers
from mainspring.wiring.network import access_of, check_host, own_names
from mainspring.wiring.process import Role
from mainspring.wiring.reception import Reception
from mainspring.wiring.resources import Resources
from mainspring.wiring.settings import Settings


async def api_role(resources: Resources, reception: Reception, stop: asyncio.Event) -> Role:
    """Answers requests on every port that was asked for."""
    settings = resources.settings
    check_host(settings, keyed=bool(await resources.store.keys.list(None)))
    connections, loop = reception.connections, asyncio.get_running_loop()
    app = create_app(
        replace(await api_ports(resources, stop), crowded=lambda: connections.crowded(loop.time())),
        hosts=own_names(settings),
        access=access_of(settings),
        defaults=defaults_of(settings),
        most_streams=settings.max_streams or max(1, connections.most // 2),
    )
    resources.measurements.sources.append(connections.families)
    return reception.staffed("api", app)


def defaults_of(settings: Settings) -> Defaults:
    """What jobs get that say nothing about their retries, where that is a setting."""
    return Defaults(
        max_attempts=settings.max_attempts, backoff_base=settings.backoff_base, backoff_max=settings.backoff_max
    )


async def probes_role(resources: Resources, reception: Reception, stop: asyncio.Event) -> Role:
    """Answers probes on behalf of a role that has no other reason to listen."""
    check_host(resources.settings, keyed=bool(await resources.store.keys.list(None)))
    resources.measurements.sources.append(reception.connections.families)
    return reception.staffed("probes", create_probes(await api_ports(resources, stop)))


async def api_ports(resources: Resources, stop: asyncio.Event | None = None) -> ApiPorts:
    """The ports of the API, which is ready once all roles of its process are, until *stop* is set."""
    store = resources.store
    ending = asyncio.Event() if stop is None else stop
    return ApiPorts(
        work=resources.work,
        timetable=resources.timetable,
        views=store.views,
        sessions=resources.sessions,
        blobs=store.blobs,
        output=store.output,
        keys=store.keys,
        locks=store.locks,
        audit=store.audit,
        changes=store.changes,
        checkup=store.checkup,
        clock=resources.clock,
        random=resources.random,
        measurements=resources.measurements,
        tracing=resources.tracing,
        builtin=await builtin_handlers(resources),
        switchable=SWITCHABLE,
        pipes=lambda: [known() for known in resources.pipes],
        full=lambda: resources.space.reason,
        ready=lambda: not ending.is_set() and all(up() for up in resources.readiness),
        ending=ending.is_set,
    )
