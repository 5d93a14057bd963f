"""`/stats` and `/workers`, in the words of the lab."""

from collections import Counter

from fastapi import APIRouter, Response

from mainspring.api.body import answer
from mainspring.api.caller import Caller, Requester
from mainspring.api.dialects.door import renamed
from mainspring.api.figures import visible_tallies
from mainspring.api.operations import operation
from mainspring.api.ports import ApiPorts
from mainspring.api.representation import shown_worker
from mainspring.api.schemas.dialects import LabStats, LabWorkers
from mainspring.api.words import PLAIN_PENDING, PLAIN_RUNNING, PLAIN_WORDS, plain_run_word, plain_word
from mainspring.domain.run import Origin
from mainspring.ports.sessions import Role
from mainspring.ports.views import Cursor, JobFilter

MOST_STANDING = 1000
"""How many jobs that recur or run on demand are looked at, the newest; a lab has fewer."""
_PAGE = 200

_WORKER = {
    "worker_id": "id",
    "id": "id",
    "status": "status",
    "last_heartbeat": "last_heartbeat",
    "current_jobs": "executing",
    "capacity": "capacity",
}


def lab_cluster_router(ports: ApiPorts) -> APIRouter:
    """The endpoints over *ports*."""
    router = APIRouter(tags=["lab"])

    @router.get("/stats", **operation("Show how much waits, and what became of the jobs", LabStats))
    async def get_lab_stats(caller: Requester) -> Response:
        stats = {
            "queue_length": await ports.views.due(caller.visible),
            "active_workers": len(await ports.sessions.live(Role.WORKER)),
            "jobs_by_status": await _by_status(ports, caller),
        }
        return answer(stats)

    @router.get("/workers", **operation("List live workers", LabWorkers))
    async def list_lab_workers() -> Response:
        members = await ports.sessions.live(Role.WORKER)
        return answer([renamed(shown_worker(member), _WORKER) for member in members])

    return router


async def _by_status(ports: ApiPorts, caller: Caller) -> dict[str, int]:
    """Jobs by their words. One-shots are read off the totals, in which one that is retried later counts once more."""
    counts = Counter(dict.fromkeys(PLAIN_WORDS, 0))
    for tally in visible_tallies(await ports.views.figures(), caller):
        if tally.origin is not Origin.RECURRING:
            counts[PLAIN_RUNNING] += tally.running
            counts[PLAIN_PENDING] += tally.live - tally.running
            counts.update({plain_run_word(state): count for state, count in tally.ended.items()})
    counts.update(await _standing(ports, caller))
    return dict(counts)


async def _standing(ports: ApiPorts, caller: Caller) -> Counter[str]:
    counts: Counter[str] = Counter()
    where, cursor = JobFilter(owner=caller.visible, standing=True), Cursor(limit=_PAGE)
    while True:
        page = await ports.views.jobs(where, cursor)
        counts.update(plain_word(record.job, record.run) for record in page.items)
        if page.next is None or counts.total() >= MOST_STANDING:
            return counts
        cursor = Cursor(before=page.next, limit=_PAGE)
