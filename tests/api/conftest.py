from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import aiohttp
import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.domain.ids import DEFAULT_LANE, Lane
from mainspring.wiring.stores import Store
from tests.api.calling import Api, calling
from tests.api.serving import served

BUILTIN = {"test.echo": DEFAULT_LANE, "slow.one": Lane("slow")}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(str(tmp_path / "mainspring.db"), clock=SystemClock())
    yield store
    await store.close()


@pytest.fixture
def ports(store: SqliteStore) -> ApiPorts:
    return ports_over(store)


def ports_over(store: Store, builtin: Mapping[str, Lane] = BUILTIN) -> ApiPorts:
    return ApiPorts(
        work=store.work,
        timetable=store.timetable,
        views=store.views,
        sessions=store.sessions,
        blobs=store.blobs,
        output=store.output,
        keys=store.keys,
        locks=store.locks,
        audit=store.audit,
        changes=store.changes,
        clock=SystemClock(),
        random=SystemRandom(),
        builtin=builtin,
    )


@pytest.fixture
async def client(ports: ApiPorts) -> AsyncIterator[aiohttp.ClientSession]:
    async with served(create_app(ports)) as session:
        yield session


@pytest.fixture
async def api(ports: ApiPorts) -> AsyncIterator[Api]:
    async with calling(create_app(ports)) as called:
        yield called
