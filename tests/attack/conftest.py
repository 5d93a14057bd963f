from typing import Protocol

import pytest

from tests.results import DID


class Did(Protocol):
    def __call__(self, **counts: int) -> None: ...


@pytest.fixture
def did(request: pytest.FixtureRequest) -> Did:
    """Say what an attack did, in numbers: `did(kills=12, requests=900)`. The results show it."""

    def say(**counts: int) -> None:
        said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
        request.node.user_properties.append((DID, said))

    return say
