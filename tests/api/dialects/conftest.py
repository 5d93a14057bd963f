from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.domain.ids import DEFAULT_LANE
from tests.api.calling import Api, calling

HANDLERS = ("test.echo", "lab.simulate", "shell.script")


@pytest.fixture
def ports(ports: ApiPorts) -> ApiPorts:
    """With the handlers that the dialects name."""
    return replace(ports, builtin=dict.fromkeys(HANDLERS, DEFAULT_LANE))


@pytest.fixture
async def api(ports: ApiPorts) -> AsyncIterator[Api]:
    async with calling(create_app(ports)) as called:
        yield called
