"""`/api/v1/locks`: named, fenced leases that users take for their own resources."""

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field
from starlette.convertors import Convertor, register_url_convertor

from mainspring.api.body import answer, read_fields
from mainspring.api.caller import Caller, Requester
from mainspring.api.cursor import read_end, write_end
from mainspring.api.operations import operation
from mainspring.api.parameters import PageQuery
from mainspring.api.problems import problem
from mainspring.api.representation import instant, milliseconds
from mainspring.api.requests import read_as
from mainspring.api.schemas.cluster import Acquire, Lock, LockList, Release, Renew
from mainspring.api.services import Services
from mainspring.domain.ids import Fence
from mainspring.errors import NotFound
from mainspring.ports import locks as port


class _Whole(Convertor[str]):
    """The rest of a path as `path` takes it, and line breaks too: a name that has one is refused, not overlooked."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("whole", _Whole())

_WHENEVER = datetime.min.replace(tzinfo=UTC)

KIND = "locks"

Name = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class LockQuery(PageQuery):
    """Which part of the list; its cursors hold a name."""

    cursor: Annotated[str | None, Field(max_length=1100, description="The `next` of the page before.")] = None


def locks_router(services: Services) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(prefix="/locks", tags=["locks"])
    _add_reading(router, services.ports.locks)
    _add_holding(router, services)
    return router


def _add_holding(router: APIRouter, services: Services) -> None:
    locks = services.ports.locks

    async def note(caller: Caller, action: str, name: str, after: dict[str, Any]) -> None:
        await services.trail.note(caller, action, f"lock:{name}", owner=caller.owner, after=after)

    @router.post(
        "/{name:whole}/acquire",
        **operation("Take a lock, or extend one's own", Lock, body=Acquire, errors=(409,)),
    )
    async def acquire_lock(name: Name, request: Request, caller: Requester) -> Response:
        wanted = read_as(Acquire, await read_fields(request))
        ttl = timedelta(milliseconds=wanted.ttl_ms)
        got = await locks.acquire(port.owned(caller.owner, name), wanted.holder, ttl)
        if isinstance(got, port.HeldBy):
            return _held(name, got)
        await note(caller, "lock.acquire", name, _shown(name, got))
        return answer(_shown(name, got))

    @router.post("/{name:whole}/renew", **operation("Keep a lock", Lock, body=Renew, errors=(409,)))
    async def renew_lock(name: Name, request: Request, caller: Requester) -> Response:
        wanted = read_as(Renew, await read_fields(request))
        lock = _lock(caller, name, wanted.holder, wanted.token)
        kept = await locks.renew(lock, timedelta(milliseconds=wanted.ttl_ms))
        if kept is None:
            return await _stale(locks, port.owned(caller.owner, name))
        await note(caller, "lock.renew", name, _shown(name, kept))
        return answer(_shown(name, kept))

    @router.post("/{name:whole}/release", **operation("Give a lock up", Lock, body=Release, errors=(409,)))
    async def release_lock(name: Name, request: Request, caller: Requester) -> Response:
        wanted = read_as(Release, await read_fields(request))
        lock = _lock(caller, name, wanted.holder, wanted.token)
        now = await services.ports.views.now()
        if not await locks.release(lock):
            return await _stale(locks, port.owned(caller.owner, name))
        released = {"name": name, "holder": lock.holder, "token": lock.fence, "expires_at": instant(now)}
        await note(caller, "lock.release", name, released)
        return answer(released)


def _add_reading(router: APIRouter, locks: port.Locks) -> None:
    @router.get("", **operation("List the locks that are held, those first that end first", LockList))
    async def list_locks(query: Annotated[LockQuery, Query()], caller: Requester) -> Response:
        page = await locks.held(caller.owner, after=_after(caller, query.cursor), limit=query.limit)
        items = [_shown(port.own_name(lock.name), lock) for lock in page.locks]
        return answer({"items": items, "next": _next(page.next)})

    @router.get("/{name:whole}", **operation("Show who holds a lock", Lock, errors=(404,)))
    async def get_lock(name: Name, caller: Requester) -> Response:
        current = await locks.find(port.owned(caller.owner, name))
        if current is None:
            raise NotFound(f"nobody holds the lock {name!r}")
        return answer(_shown(name, current))


def _after(caller: Caller, cursor: str | None) -> port.Bookmark | None:
    if cursor is None:
        return None
    expires_at, name = read_end(KIND, cursor)
    return port.Bookmark(expires_at=expires_at, name=port.owned(caller.owner, name))


def _next(bookmark: port.Bookmark | None) -> str | None:
    return None if bookmark is None else write_end(KIND, bookmark.expires_at, port.own_name(bookmark.name))


def _lock(caller: Caller, name: str, holder: str, token: int) -> port.Lock:
    """The lock that somebody says to hold; only name, holder and fence count."""
    return port.Lock(name=port.owned(caller.owner, name), holder=holder, fence=Fence(token), expires_at=_WHENEVER)


def _shown(name: str, lock: port.Lock) -> dict[str, Any]:
    return {"name": name, "holder": lock.holder, "token": lock.fence, "expires_at": instant(lock.expires_at)}


async def _stale(locks: port.Locks, name: str) -> Response:
    """The refusal of somebody who doesn't hold the lock any more, with who does."""
    current = await locks.find(name)
    holder = None if current is None else current.holder
    detail = "it was lost: its time was up, or it was released; acquire it anew, under a new token"
    return problem(409, "lock_stale", "The lock isn't held like that", detail, {"holder": holder})


def _held(name: str, held: port.HeldBy) -> Response:
    detail = (
        f"{held.holder!r} holds the lock {name!r} for another {milliseconds(held.remaining)} ms unless it renews it"
    )
    extra = {"holder": held.holder, "remaining_ms": milliseconds(held.remaining)}
    refusal = problem(409, "lock_held", "The lock is held", detail, extra)
    refusal.headers["Retry-After"] = str(max(1, math.ceil(held.remaining.total_seconds())))
    return refusal
