"""Dead letters: listing, requeueing and discarding them."""

import asyncio
from typing import Any

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.outcome import Failed, Succeeded
from tests.api.calling import EXECUTIONS, Api, executed

LETTERS = "/api/v1/dead-letter"


async def dead(api: Api, store: SqliteStore, error: str = "no such file", **fields: Any) -> Any:
    job = await api.submitted(**fields)
    await executed(store, Failed(error=error, permanent=True))
    return job


async def listed(api: Api, query: str = "") -> list[str]:
    return [letter["id"] for letter in (await api.get(LETTERS + query))["items"]]


async def test_dead_letters_say_what_they_died_of(api: Api, store: SqliteStore) -> None:
    job = await dead(api, store)
    [letter] = (await api.get(LETTERS))["items"]
    assert (letter["id"], letter["status"], letter["error"]) == (job["id"], "FAILED", "no such file")
    assert (letter["handler"], len(letter["fingerprint"])) == ("test.echo", 16)
    assert letter["died_at"].endswith("Z")


async def test_they_are_found_by_job_handler_and_fingerprint_and_paged(api: Api, store: SqliteStore) -> None:
    first = await dead(api, store, "file 1 is missing")
    second = await dead(api, store, "file 2 is missing")
    other = await dead(api, store, "out of memory")
    newest, _, oldest = (await api.get(LETTERS))["items"]
    for query, expected in (
        (f"?job_id={second['id']}", [second]),
        (f"?fingerprint={oldest['fingerprint']}", [second, first]),
        (f"?fingerprint={newest['fingerprint']}", [other]),
        ("?handler=test.echo", [other, second, first]),
        ("?handler=other", []),
    ):
        assert await listed(api, query) == [job["id"] for job in expected], query
    page = await api.get(f"{LETTERS}?limit=2")
    assert await listed(api, f"?limit=2&cursor={page['next']}") == [first["id"]]


async def test_a_requeued_letter_is_a_new_execution_and_off_the_list(api: Api, store: SqliteStore) -> None:
    job = await dead(api, store)
    paths = [f"{LETTERS}/{job['id']}/requeue"] * 3
    answers = await asyncio.gather(*(api.post(path, 202) for path in paths))
    assert len({answer["id"] for answer in answers}) == 1
    assert (await api.post(paths[0], 202))["id"] == answers[0]["id"]
    assert answers[0]["retry_of"] == job["id"]
    assert await listed(api) == []
    assert len((await api.get(EXECUTIONS))["items"]) == 2
    await executed(store, Succeeded())
    assert (await api.get(f"/api/v1/jobs/{job['id']}"))["status"] == "COMPLETED"


async def test_a_letter_that_dies_again_is_another_letter(api: Api, store: SqliteStore) -> None:
    job = await dead(api, store)
    new = await api.post(f"{LETTERS}/{job['id']}/requeue", 202)
    await executed(store, Failed(error="again", permanent=True))
    assert await listed(api) == [new["id"]]
    third = await api.post(f"{LETTERS}/{new['id']}/requeue", 202)
    assert third["retry_of"] == new["id"]


async def test_a_discarded_letter_is_off_the_list_and_stays_in_history(api: Api, store: SqliteStore) -> None:
    job = await dead(api, store)
    assert (await api.post(f"{LETTERS}/{job['id']}/discard", 202))["status"] == "FAILED"
    assert await listed(api) == []
    await api.get(f"{EXECUTIONS}/{job['id']}")
    for verb in ("discard", "requeue"):
        assert (await api.post(f"{LETTERS}/{job['id']}/{verb}", 409))["error"] == "wrong_state"


async def test_only_dead_letters_are_requeued_or_discarded(api: Api) -> None:
    job = await api.submitted()
    for verb in ("discard", "requeue"):
        await api.post(f"{LETTERS}/{job['id']}/{verb}", 409)
        await api.post(f"{LETTERS}/00000000-0000-7000-8000-000000000000/{verb}", 404)


async def test_many_are_requeued_by_what_they_have_in_common(api: Api, store: SqliteStore) -> None:
    alike = [await dead(api, store, f"file {number} is missing") for number in range(4)]
    other = await dead(api, store, "out of memory")
    fingerprint = (await api.get(LETTERS))["items"][-1]["fingerprint"]
    first = await api.post(f"{LETTERS}/requeue", 202, json={"fingerprint": fingerprint, "limit": 3})
    assert (first["requeued"], first["more"]) == (3, True)
    assert [run["retry_of"] for run in first["items"]] == [job["id"] for job in alike[:0:-1]]
    second = await api.post(f"{LETTERS}/requeue", 202, json={"fingerprint": fingerprint, "limit": 3})
    assert (second["requeued"], second["more"]) == (1, False)
    assert await api.post(f"{LETTERS}/requeue", 202, json={"fingerprint": fingerprint}) == {
        "requeued": 0,
        "items": [],
        "more": False,
    }
    assert await listed(api) == [other["id"]]
    assert (await api.post(f"{LETTERS}/requeue", 202, json={"job_id": other["id"]}))["requeued"] == 1


async def test_a_filter_that_makes_no_sense_is_refused(api: Api) -> None:
    for body in ({"limit": 0}, {"limit": 1001}, {"limit": True}, {"job_id": "x"}, {"jobid": "x"}, {"handler": 1}):
        assert (await api.post(f"{LETTERS}/requeue", 422, json=body))["error"] == "invalid"


async def test_a_filter_without_a_body_means_all(api: Api, store: SqliteStore) -> None:
    await dead(api, store)
    assert (await api.post(f"{LETTERS}/requeue", 202))["requeued"] == 1


async def test_why_it_was_discarded_is_kept_by_the_audit(api: Api, store: SqliteStore) -> None:
    job = await dead(api, store)
    await api.post(f"{LETTERS}/{job['id']}/discard", 422, json={"because": "fixed"})
    await api.post(f"{LETTERS}/{job['id']}/discard", 202, json={"reason": "fixed upstream"})
    entry = (await api.get("/api/v1/audit"))["items"][0]
    assert (entry["action"], entry["after"]) == ("dead_letter.discard", {"reason": "fixed upstream"})
