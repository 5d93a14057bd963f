"""`/api/v1/keys`: making, listing and revoking API keys, for whoever may administer an owner's things."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request, Response

from mainspring.api.body import answer, read_fields
from mainspring.api.caller import Caller, Requester
from mainspring.api.keys import SECRET_BITS, digest_of, make_key
from mainspring.api.operations import operation
from mainspring.api.representation import instant
from mainspring.api.requests import read_as
from mainspring.api.schemas.keys import Key, KeyList, KeyRequest, NewKey
from mainspring.api.services import Services
from mainspring.domain.ids import RANDOM_BITS, new_job_id
from mainspring.errors import Invalid, NotFound
from mainspring.ports.keys import ApiKey

PATH = "/api/v1/keys"


def keys_router(services: Services) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(prefix="/keys", tags=["keys"])
    ports = services.ports

    async def note(caller: Caller, action: str, key: ApiKey) -> None:
        after = {"name": key.name, "scope": key.scope}
        await services.trail.note(caller, action, f"key:{key.id}", owner=key.owner, after=after)

    @router.get("", **operation("List API keys, newest first, without their secrets", KeyList))
    async def list_keys(caller: Requester) -> Response:
        keys = await ports.keys.list(caller.visible)
        now = ports.clock.now()
        return answer({"items": [{**_shown(key), "valid": key.valid(now)} for key in keys], "next": None})

    @router.post("", **operation("Make an API key, which is shown this once", NewKey, 201, body=KeyRequest))
    async def create_key(request: Request, caller: Requester) -> Response:
        wanted = read_as(KeyRequest, await read_fields(request))
        now = ports.clock.now()
        text = make_key(ports.random.bits(SECRET_BITS))
        key = ApiKey(
            id=new_job_id(now, ports.random.bits(RANDOM_BITS)),
            digest=digest_of(text),
            owner=_owner(caller, wanted.owner),
            name=wanted.name,
            scope=wanted.scope,
            created_at=now,
            expires_at=None if wanted.expires_in_ms is None else now + timedelta(milliseconds=wanted.expires_in_ms),
        )
        await ports.keys.create(key)
        await note(caller, "key.create", key)
        return answer({**_shown(key), "valid": True, "key": text}, 201, {"Location": f"{PATH}/{key.id}"})

    @router.delete("/{key_id}", **operation("End a key for good", Key, errors=(404,)))
    async def revoke_key(key_id: UUID, caller: Requester) -> Response:
        known = next((key for key in await ports.keys.list(caller.visible) if key.id == key_id), None)
        if known is None:
            raise NotFound(f"there is no key {key_id}")
        if await ports.keys.revoke(key_id):
            await note(caller, "key.revoke", known)
        ended = next((key for key in await ports.keys.list(known.owner) if key.id == key_id), known)
        return answer({**_shown(ended), "valid": False})

    return router


def _owner(caller: Caller, named: str | None) -> str:
    if named is None or named == caller.owner:
        return caller.owner
    if caller.isolated:
        raise Invalid(f"your key is {caller.owner!r}'s, and makes keys for nobody else", field="owner")
    return named


def _shown(key: ApiKey) -> dict[str, Any]:
    times = ("created_at", "expires_at", "revoked_at", "last_used_at")
    return {
        "id": str(key.id),
        "owner": key.owner,
        "name": key.name,
        "scope": key.scope,
        **{name: None if getattr(key, name) is None else instant(getattr(key, name)) for name in times},
    }
