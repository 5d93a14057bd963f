"""One suite per port. An adapter adds fixtures and nothing else.

    class OnMyStore:
        @pytest.fixture
        async def store(self) -> AsyncIterator[Store]: ...

        @pytest.fixture
        def time(self) -> Time: ...

    class TestWork(OnMyStore, WorkContract): ...
    class TestLocks(OnMyStore, LocksContract): ...

`pytest.register_assert_rewrite("mainspring.testing.contracts")` in a conftest makes failures speak.
"""

from mainspring.testing.contracts.audit import AuditContract
from mainspring.testing.contracts.base import Extremes, Store
from mainspring.testing.contracts.blobs import BlobsContract
from mainspring.testing.contracts.broker import BrokerContract
from mainspring.testing.contracts.changes import ChangesContract
from mainspring.testing.contracts.journal import JournalContract
from mainspring.testing.contracts.keys import KeysContract
from mainspring.testing.contracts.locks import LocksContract
from mainspring.testing.contracts.output import OutputContract
from mainspring.testing.contracts.sessions import SessionsContract
from mainspring.testing.contracts.signals import SignalsContract
from mainspring.testing.contracts.tickets import TicketsContract
from mainspring.testing.contracts.timetable import TimetableContract
from mainspring.testing.contracts.upkeep import UpkeepContract
from mainspring.testing.contracts.views import ViewsContract
from mainspring.testing.contracts.work import WorkContract

__all__ = [
    "AuditContract",
    "BlobsContract",
    "BrokerContract",
    "ChangesContract",
    "Extremes",
    "JournalContract",
    "KeysContract",
    "LocksContract",
    "OutputContract",
    "SessionsContract",
    "SignalsContract",
    "Store",
    "TicketsContract",
    "TimetableContract",
    "UpkeepContract",
    "ViewsContract",
    "WorkContract",
]
