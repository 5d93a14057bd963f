"""What the API is asked on PostgreSQL, which can neither store nor compare all that SQLite can."""

import pytest

from mainspring.adapters.postgres.store import PostgresStore
from mainspring.api.ports import ApiPorts
from tests.api.conftest import ports_over
from tests.api.test_hostile import port, test_nothing_breaks_and_nothing_hangs

__all__ = ["port", "test_nothing_breaks_and_nothing_hangs"]


@pytest.fixture
def ports(store: PostgresStore) -> ApiPorts:
    return ports_over(store)
