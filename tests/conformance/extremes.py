"""What no verb of the Cassandra adapter brings about at once."""

import json

from mainspring.adapters.cassandra.layout import EVERYTHING, home_of
from mainspring.adapters.cassandra.ledger import Group
from mainspring.adapters.cassandra.rows import Change, Row
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.adapters.cassandra.tables import RUN, TOTAL
from mainspring.adapters.cassandra.totals import read_totals
from mainspring.domain.ids import RunId
from mainspring.domain.run import State
from mainspring.ports.views import WAIT_BUCKETS

_MOST = 2**63 - 1
_LONGEST = 86_399_999_999_999_999_999
"""Microseconds in the longest duration that Python knows: older versions kept what was waited up to there."""


class CassandraExtremes:
    def __init__(self, store: CassandraStore) -> None:
        self._context = store._context
        self._full: set[Group] = set()

    async def fill_up(self) -> None:
        await self._context.ledger.written()
        counted = dict.fromkeys(("added", "started", "retried", "lost", "running"), _MOST)
        ended = {state.value: _MOST for state in State if state.terminal}
        waits = [_MOST] * (len(WAIT_BUCKETS) + 1)
        figures = json.dumps({**counted, "waited": _LONGEST, "ended": ended, "waits": waits})
        values: Row = {"figures": figures, "folded": "[]"}
        for group in {*await read_totals(self._context.rows)} - self._full:
            owner, lane, kind = group
            change = Change(key=(owner, lane, int(kind)), values=values, expected=None)
            assert await self._context.rows.cas_batch(TOTAL, (EVERYTHING,), [change]) is None
            self._full.add(group)

    async def put_off(self, run_id: RunId) -> None:
        change = Change(key=(run_id,), values={"wake_at": 2**60}, expected={"fence": 0})
        assert await self._context.rows.cas_batch(RUN, home_of(run_id), [change]) is None
