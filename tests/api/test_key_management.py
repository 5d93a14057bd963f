from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import aiohttp
import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.ports.keys import Scope
from tests.api.calling import Api
from tests.api.keyed import bearer, closed, status, stored_key

KEYS = "/api/v1/keys"
JOBS = "/api/v1/jobs"


async def revoked(api: Api, path: str, expected: int, admin: str) -> Any:
    return (await api.ask("DELETE", path, expected, headers=bearer(admin))).json()


async def test_a_key_is_shown_once_and_works(api: Api, client: aiohttp.ClientSession) -> None:
    made = await api.post(KEYS, 201, json={"name": "the importer", "scope": "admin", "owner": "ann"})
    await closed(client, JOBS)
    admin = bearer(made["key"])
    (listed,) = (await api.get(KEYS, headers=admin))["items"]
    assert "key" not in listed
    assert (listed["name"], listed["scope"], listed["owner"]) == ("the importer", "admin", "ann")
    assert listed["valid"]


async def test_a_key_can_be_given_an_end(api: Api) -> None:
    made = await api.post(KEYS, 201, json={"expires_in_ms": 60_000})
    life = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert life == timedelta(minutes=1)


async def test_a_revoked_key_stays_on_the_list(api: Api, store: SqliteStore) -> None:
    admin, _ = await stored_key(store, "ann", Scope.ADMIN)
    made = await api.post(KEYS, 201, json={"name": "short-lived"}, headers=bearer(admin))
    ended = await revoked(api, f"{KEYS}/{made['id']}", 200, admin)
    assert ended["revoked_at"]
    listed = {key["id"]: key["valid"] for key in (await api.get(KEYS, headers=bearer(admin)))["items"]}
    assert listed[made["id"]] is False
    assert await revoked(api, f"{KEYS}/{made['id']}", 200, admin) == ended


async def test_keys_of_others_do_not_exist(api: Api, store: SqliteStore) -> None:
    admin, _ = await stored_key(store, "ann", Scope.ADMIN)
    _, other = await stored_key(store, "bob", Scope.ADMIN)
    assert [key["owner"] for key in (await api.get(KEYS, headers=bearer(admin)))["items"]] == ["ann"]
    await revoked(api, f"{KEYS}/{other.id}", 404, admin)
    await revoked(api, f"{KEYS}/{uuid4()}", 404, admin)
    refused = await api.post(KEYS, 422, json={"owner": "bob"}, headers=bearer(admin))
    assert refused["field"] == "owner"


@pytest.mark.parametrize("scope", [Scope.READ, Scope.WRITE])
async def test_only_an_administrator_touches_keys(
    client: aiohttp.ClientSession, store: SqliteStore, scope: Scope
) -> None:
    key, stored = await stored_key(store, "ann", scope)
    for method, path in (("GET", KEYS), ("POST", KEYS), ("DELETE", f"{KEYS}/{stored.id}")):
        assert await status(client, path, method, headers=bearer(key), json={}) == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scope": "everything"}, "scope"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"expires_in_ms": 0}, "expires_in_ms"),
        ({"secret": "mine"}, "secret"),
    ],
)
async def test_what_makes_no_sense_is_told(api: Api, body: dict[str, object], field: str) -> None:
    assert (await api.post(KEYS, 422, json=body))["errors"][0]["field"] == field


async def test_it_is_written_down_who_made_and_revoked_a_key(api: Api, store: SqliteStore) -> None:
    admin, holder = await stored_key(store, "ann", Scope.ADMIN)
    made = await api.post(KEYS, 201, json={"name": "noted"}, headers=bearer(admin))
    await revoked(api, f"{KEYS}/{made['id']}", 200, admin)
    entries = (await api.get("/api/v1/audit", headers=bearer(admin)))["items"]
    assert [(entry["action"], entry["subject"], entry["actor"]) for entry in entries] == [
        ("key.revoke", f"key:{made['id']}", f"key:{holder.id}"),
        ("key.create", f"key:{made['id']}", f"key:{holder.id}"),
    ]
    assert made["key"] not in str(entries)
