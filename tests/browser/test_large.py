"""A hundred thousand jobs are listed and filtered as smoothly as ten: what is asked for and drawn is a page."""

import re
from datetime import timedelta

import pytest
from playwright.async_api import expect

from mainspring.testing.factories import Factory, a_task
from tests.browser.site import Site
from tests.browser.window import Dashboard

JOBS = 100_000
BATCH = 10_000

pytestmark = pytest.mark.slow


async def test_a_hundred_thousand_jobs_are_listed_and_filtered_page_by_page(site: Site, dashboard: Dashboard) -> None:
    made, task = Factory(), a_task()
    for first in range(0, JOBS, BATCH):
        names = (f"job {number:06}" for number in range(first, first + BATCH))
        await site.store.work.add([made.run(name=name, due=timedelta(days=9), task=task) for name in names])
    page = await dashboard.open("/jobs")
    await expect(page.locator("tbody tr")).to_have_count(50)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/v1/jobs" in request.url else None)
    await page.get_by_label("Search in names").press_sequentially("job 099")
    await expect(page).to_have_url(re.compile(r"q=job\+099$"))
    await expect(page.locator("tbody .name").first).to_have_text(re.compile("job 099"))
    await page.get_by_role("button", name="Older").click()
    await expect(page).to_have_url(re.compile("cursor="))
    await expect(page.locator("tbody tr")).to_have_count(50)
    assert await page.locator("main *").count() < 3000
    assert len(asked) < 40
