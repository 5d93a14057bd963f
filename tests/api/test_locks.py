"""Locks over HTTP."""

import asyncio
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from tests.api.calling import Api

LOCK = "/api/v1/locks/printer"
MINE = {"holder": "me", "ttl_ms": 60_000}
YOURS = {"holder": "you", "ttl_ms": 60_000}


async def test_a_lock_is_taken_kept_and_given_up(api: Api) -> None:
    lock = await api.post(f"{LOCK}/acquire", 200, json=MINE)
    assert (lock["name"], lock["holder"], lock["token"]) == ("printer", "me", 1)
    assert await api.get(LOCK) == lock
    held = {"holder": "me", "token": lock["token"]}
    kept = await api.post(f"{LOCK}/renew", 200, json={**held, "ttl_ms": 120_000})
    assert (kept["token"], kept["expires_at"] > lock["expires_at"]) == (1, True)
    released = await api.post(f"{LOCK}/release", 200, json=held)
    assert (released["holder"], released["token"]) == ("me", 1)
    await api.get(LOCK, 404)
    assert (await api.post(f"{LOCK}/acquire", 200, json=YOURS))["token"] == 2


async def test_whoever_comes_second_learns_who_holds_it_and_for_how_long(api: Api) -> None:
    await api.post(f"{LOCK}/acquire", 200, json=MINE)
    response = await api.ask("POST", f"{LOCK}/acquire", 409, json=YOURS)
    problem = response.json()
    assert (problem["error"], problem["holder"]) == ("lock_held", "me")
    assert 0 < problem["remaining_ms"] <= 60_000
    assert 1 <= int(response.headers["Retry-After"]) <= 60


async def test_of_many_one_gets_it(api: Api) -> None:
    asked = (api.client.post(f"{LOCK}/acquire", json={"holder": str(number), "ttl_ms": 60_000}) for number in range(8))
    statuses = sorted(response.status_code for response in await asyncio.gather(*asked))
    assert statuses == [200] + [409] * 7


async def test_asking_again_extends_ones_own(api: Api) -> None:
    first = await api.post(f"{LOCK}/acquire", 200, json=MINE)
    assert (await api.post(f"{LOCK}/acquire", 200, json=MINE))["token"] == first["token"]


async def test_a_stale_token_neither_renews_nor_releases(api: Api) -> None:
    lock = await api.post(f"{LOCK}/acquire", 200, json=MINE)
    for stale in ({"holder": "me", "token": lock["token"] + 1}, {"holder": "you", "token": lock["token"]}):
        problem = await api.post(f"{LOCK}/renew", 409, json={**stale, "ttl_ms": 1000})
        assert (problem["error"], problem["holder"]) == ("lock_stale", "me")
        await api.post(f"{LOCK}/release", 409, json=stale)
    await api.post(f"{LOCK}/release", 200, json={"holder": "me", "token": lock["token"]})
    problem = await api.post(f"{LOCK}/release", 409, json={"holder": "me", "token": lock["token"]})
    assert problem["holder"] is None


@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("acquire", {"holder": "me"}, "ttl_ms"),
        ("acquire", {"holder": "me", "ttl_ms": 0}, "ttl_ms"),
        ("acquire", {"holder": "me", "ttl_ms": 86_400_001}, "ttl_ms"),
        ("acquire", {"holder": "", "ttl_ms": 1}, "holder"),
        ("acquire", {"holder": "x" * 201, "ttl_ms": 1}, "holder"),
        ("acquire", {"holder": "me", "ttl_ms": 1, "token": 1}, "token"),
        ("renew", {"holder": "me", "ttl_ms": 1}, "token"),
        ("renew", {"holder": "me", "ttl_ms": 1, "token": 1 << 63}, "token"),
        ("release", {"holder": "me", "token": "1"}, "token"),
        ("release", {"holder": "me", "token": 1, "ttl_ms": 1}, "ttl_ms"),
    ],
)
async def test_bounds_are_told(api: Api, verb: str, body: dict[str, object], field: str) -> None:
    assert (await api.post(f"{LOCK}/{verb}", 422, json=body))["errors"][0]["field"] == field


async def test_names_have_bounds_too(api: Api) -> None:
    for name, status in (
        ("x" * 200, 200),
        ("x" * 201, 422),
        ("a%00b", 422),
        ("a%0Ab", 422),
        ("a/b", 200),
        ("%C3%BC", 200),
    ):
        await api.post(f"/api/v1/locks/{name}/acquire", status, json=MINE)
    assert (await api.get("/api/v1/locks/a/b"))["name"] == "a/b"


async def test_owners_have_locks_of_their_own(api: Api, store: SqliteStore) -> None:
    await api.post(f"{LOCK}/acquire", 200, json=MINE)
    ann = {"X-User-ID": "ann"}
    await api.get(LOCK, 404, headers=ann)
    await api.post(f"{LOCK}/acquire", 200, json=YOURS, headers=ann)
    await api.post("/api/v1/locks/ann/printer/acquire", 200, json=MINE)
    held = await store.locks.find("printer")
    assert held is not None
    assert held.holder == "me"
    assert held.expires_at > datetime.now(UTC)


async def test_held_locks_are_listed_and_those_first_that_end_first(api: Api) -> None:
    assert await api.get("/api/v1/locks") == {"items": [], "next": None}
    late = await api.post("/api/v1/locks/late/acquire", 200, json={"holder": "me", "ttl_ms": 90_000})
    soon = await api.post("/api/v1/locks/a/b%20c/acquire", 200, json={"holder": "you", "ttl_ms": 60_000})
    gone = await api.post(f"{LOCK}/acquire", 200, json=MINE)
    await api.post(f"{LOCK}/release", 200, json={"holder": "me", "token": gone["token"]})
    assert await api.get("/api/v1/locks") == {"items": [soon, late], "next": None}


async def test_the_list_of_locks_has_pages(api: Api) -> None:
    names = ["x" * 200, "\N{SNOWMAN}" * 200, "third"]
    for number, name in enumerate(names):
        ttl = 60_000 * (number + 1)
        await api.post(f"/api/v1/locks/{quote(name)}/acquire", 200, json={"holder": "me", "ttl_ms": ttl})
    found, cursor = [], ""
    while cursor is not None:
        page = await api.get(f"/api/v1/locks?limit=1{cursor and f'&cursor={cursor}'}")
        found += [lock["name"] for lock in page["items"]]
        cursor = page["next"]
    assert found == names


async def test_owners_list_their_own_locks_under_their_own_names(api: Api) -> None:
    ann = {"X-User-ID": "ann"}
    await api.post(f"{LOCK}/acquire", 200, json=MINE)
    hers = await api.post("/api/v1/locks/scanner/acquire", 200, json=YOURS, headers=ann)
    assert [lock["name"] for lock in (await api.get("/api/v1/locks"))["items"]] == ["printer"]
    assert (await api.get("/api/v1/locks", headers=ann))["items"] == [hers]
    assert (await api.get("/api/v1/locks", headers={"X-User-ID": "ben"}))["items"] == []
