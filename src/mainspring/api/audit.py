"""GET `/api/v1/audit`: who did what, newest first."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response

from mainspring.api.body import answer
from mainspring.api.caller import Requester
from mainspring.api.cursor import read_number, write_number
from mainspring.api.document import Raw
from mainspring.api.operations import operation
from mainspring.api.parameters import PageQuery
from mainspring.api.representation import instant
from mainspring.api.schemas.cluster import AuditList
from mainspring.api.services import Services
from mainspring.domain.ids import JobId
from mainspring.ports.audit import Recorded

KIND = "audit"


class AuditQuery(PageQuery):
    """Which entries to list."""

    job_id: UUID | None = None


def audit_router(services: Services) -> APIRouter:
    """The endpoint over *services*."""
    router = APIRouter(prefix="/audit", tags=["audit"])

    @router.get("", **operation("List what was done, newest first", AuditList))
    async def list_audit(query: Annotated[AuditQuery, Query()], caller: Requester) -> Response:
        found = await services.ports.audit.page(
            owner=caller.visible,
            job_id=None if query.job_id is None else JobId(query.job_id),
            before=read_number(KIND, query.cursor),
            limit=query.limit + 1,
        )
        shown = found[: query.limit]
        more = len(found) > len(shown)
        return answer(
            {
                "items": [_shown(recorded) for recorded in shown],
                "next": write_number(KIND, shown[-1].number) if more else None,
            }
        )

    return router


def _shown(recorded: Recorded) -> dict[str, Any]:
    entry = recorded.entry
    return {
        "number": recorded.number,
        "at": instant(recorded.at),
        "actor": entry.actor,
        "owner": entry.owner,
        "action": entry.action,
        "subject": entry.subject,
        "job_id": None if entry.job_id is None else str(entry.job_id),
        "before": None if entry.before is None else Raw(entry.before),
        "after": None if entry.after is None else Raw(entry.after),
        "digest": None if recorded.digest is None else recorded.digest.hex(),
    }
