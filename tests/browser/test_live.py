"""What is seen is live, says so when it isn't, and follows the server's clock."""

import re
from datetime import timedelta

from playwright.async_api import Browser, expect

from tests.browser.site import Site
from tests.browser.window import Dashboard, window

BROKEN = ["ERR_", "Failed to load", "network error"]


async def test_a_lost_connection_is_said_and_resumed_without_a_gap(site: Site, dashboard: Dashboard) -> None:
    dashboard.expected = BROKEN
    page = await dashboard.open("/jobs")
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    await site.add("before", schedule="@daily")
    await expect(page.locator("tbody .name")).to_have_text(["before"])
    await site.stop()
    await expect(page.get_by_text("Connection lost", exact=True)).to_be_visible()
    await expect(page.get_by_text(re.compile("The connection was lost"))).to_be_visible()
    await page.get_by_role("button", name="Try now").click()
    await expect(page.get_by_text("Connection lost", exact=True)).to_be_visible()
    resumed: list[str] = []
    page.on("request", lambda request: resumed.append(request.headers.get("last-event-id", "")))
    await site.start()
    await site.add("meanwhile", schedule="@daily")
    await expect(page.get_by_text("Live", exact=True)).to_be_visible(timeout=60_000)
    await expect(page.locator("tbody .name")).to_have_text(["meanwhile", "before"])
    assert any(resumed)


async def test_times_follow_the_server_s_clock_whatever_the_browser_s_says(site: Site, browser: Browser) -> None:
    await site.add("soon", schedule="in 90s")
    async with window(browser, site.url) as dashboard:
        await dashboard.page.add_init_script("const real = Date.now; Date.now = () => real.call(Date) + 7 * 3600e3")
        page = await dashboard.open("/jobs")
        await expect(page.get_by_text(re.compile("This computer's clock is (7 h|6 h 59 min) ahead"))).to_be_visible()
        await expect(page.locator("td[data-name='Next run']")).to_have_text(re.compile(r"^in (1 min|\d+ s)"))


async def test_a_server_that_lives_in_another_time_is_followed(site: Site, dashboard: Dashboard) -> None:
    site.clock.shift = timedelta(days=400)
    await site.add("soon", schedule="in 90s")
    page = await dashboard.open("/jobs")
    await expect(page.locator("td[data-name='Next run']")).to_have_text(re.compile(r"^in (1 min|\d+ s)"))


async def test_many_events_are_taken_together(site: Site, dashboard: Dashboard) -> None:
    """However many come, the list is asked for now and then only."""
    page = await dashboard.open("/jobs")
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/v1/jobs" in request.url else None)
    for number in range(100):
        await site.add(f"job {number:03}", schedule="@daily")
    await expect(page.locator("tbody .name").first).to_have_text("job 099")
    assert len(asked) < 50


async def test_the_store_s_illness_is_told(dashboard: Dashboard) -> None:
    dashboard.expected = ["503", *BROKEN]
    page = await dashboard.open()
    await expect(page.get_by_role("region", name="Health")).to_contain_text("answers")
    await page.route("**/api/v1/health", lambda route: route.fulfill(status=503, json={"detail": "the disk is full"}))
    await expect(page.get_by_role("region", name="Needs attention")).to_contain_text("The store is away.")
    await expect(page.get_by_role("region", name="Needs attention")).to_contain_text("the disk is full")
