import pytest

from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.cassandra.rows import Rows
from mainspring.testing.clock import ManualClock
from mainspring.testing.contracts.rows import RowsContract
from mainspring.testing.rows.dictionary import Dictionary, DictionaryRows


class TestDictionary(RowsContract):
    @pytest.fixture
    async def rows(self) -> Rows:
        return DictionaryRows(Dictionary(), ManualClock())


class TestCql(RowsContract):
    @pytest.fixture
    async def rows(self, cassandra_driver: Driver) -> Rows:
        return CqlRows(cassandra_driver)
