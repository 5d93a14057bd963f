import aiohttp

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.testing.factories import a_session


async def page(client: aiohttp.ClientSession) -> str:
    async with client.get("/") as response:
        assert response.status == 200
        assert response.content_type == "text/html"
        return await response.text()


async def test_an_empty_store_says_what_to_do(client: aiohttp.ClientSession) -> None:
    text = await page(client)
    assert "No jobs yet" in text
    assert "No worker is alive" in text


async def test_jobs_runs_and_workers_are_shown(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    await store.sessions.open(a_session("worker-7"))
    for schedule in ("@daily", "now"):
        job = {"handler": "test.echo", "name": f"job {schedule}", "schedule": schedule}
        async with client.post("/api/v1/jobs", json=job) as response:
            assert response.status == 201
    text = await page(client)
    assert "worker-7" in text
    assert "job @daily" in text
    assert 'class="badge pending"' in text
    assert "<code>now</code>" in text


async def test_what_users_wrote_is_text_and_never_markup(client: aiohttp.ClientSession) -> None:
    job = {"handler": "test.echo", "name": "<script>alert(1)</script>"}
    async with client.post("/api/v1/jobs", json=job) as response:
        assert response.status == 201
    assert "<script" not in await page(client)


async def test_the_page_needs_nothing_from_elsewhere(client: aiohttp.ClientSession) -> None:
    text = await page(client)
    assert "src=" not in text
    assert "http://" not in text
    assert "https://" not in text
