from pathlib import Path

import pytest

from tests.scenarios.serve.processes import Place, embedded

STORES = {"postgresql": "postgres_url", "cassandra": "cassandra_url"}


@pytest.fixture(params=["sqlite", "postgresql", "cassandra"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty store of each kind, for real processes."""
    if request.param == "sqlite":
        return embedded(tmp_path)
    return Place(tmp_path, request.getfixturevalue(STORES[request.param]))
