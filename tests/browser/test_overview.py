import re
from datetime import timedelta

from playwright.async_api import Locator, Page, expect

from mainspring.domain.outcome import Failed, HandedBack, Succeeded
from tests.browser.site import Site
from tests.browser.window import Dashboard


async def test_an_empty_system_says_what_to_type_next(dashboard: Dashboard) -> None:
    page = await dashboard.open()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await expect(page.get_by_text("Nothing is scheduled.")).to_be_visible()
    await expect(page.get_by_text("mainspring job add test.echo")).to_be_visible()
    await expect(page.get_by_text("No worker is alive: nothing runs.").first).to_be_visible()


async def test_figures_charts_workers_and_what_comes_next_are_shown(site: Site, dashboard: Dashboard) -> None:
    site.clock.shift = -timedelta(minutes=2)
    await site.add("stuck", lane="gpu")
    site.clock.shift = timedelta(0)
    await site.scheduler()
    await site.worker("worker-7", capacity=4)
    await site.add("hourly", schedule="@hourly")
    await site.add("first")
    await site.execute(Succeeded())
    await site.die("second", "it broke")
    page = await dashboard.open("/?range=1h")
    await expect(tile(page, "Completed")).to_contain_text("1")
    await expect(tile(page, "Failed")).to_contain_text("1")
    await expect(tile(page, "Dead letters")).to_contain_text("1")
    await expect(page.get_by_role("img", name=re.compile("1 completed, 1 failed"))).to_be_visible()
    await expect(page.get_by_role("region", name="Fires next")).to_contain_text("hourly")
    await expect(page.get_by_role("region", name="Workers")).to_contain_text("0 of 4")
    await expect(page.get_by_role("region", name="Needs attention")).to_contain_text("1 dead letter")
    await expect(page.get_by_role("region", name="Needs attention")).to_contain_text("1 execution overdue, up to 2 min")
    reason = "stuck: None of 1 live worker serves the lane gpu."
    await expect(page.get_by_role("region", name="Needs attention")).to_contain_text(reason)
    await expect(page.get_by_role("img", name=re.compile("due and hadn't begun: lately 1, at most 1"))).to_be_visible()
    await expect(page.get_by_role("region", name="Latest executions")).to_contain_text("second")


async def test_what_workers_hand_back_again_and_again_needs_attention(site: Site, dashboard: Dashboard) -> None:
    site.clock.shift = -timedelta(minutes=2)
    await site.add("bounced")
    site.clock.shift = timedelta(0)
    await site.scheduler()
    await site.execute(HandedBack(delay=timedelta(hours=1), reason="shell handlers are off on this worker"))
    page = await dashboard.open()
    attention = page.get_by_role("region", name="Needs attention")
    await expect(attention).to_contain_text("1 execution overdue, up to 2 min")
    await expect(attention).to_contain_text("A worker handed it back: shell handlers are off on this worker.")


async def test_there_is_something_to_see_before_all_scripts_have_come(dashboard: Dashboard) -> None:
    dashboard.expected = ["ERR_FAILED"]
    await dashboard.page.route("**/dom.js", lambda route: route.abort())
    page = await dashboard.open()
    await expect(page.get_by_role("link", name="Mainspring")).to_be_visible()


async def test_the_range_stands_in_the_address(dashboard: Dashboard) -> None:
    page = await dashboard.open()
    await page.get_by_role("link", name="24 hours").click()
    await expect(page).to_have_url(re.compile(r"range=24h"))
    await expect(page.get_by_role("link", name="24 hours")).to_have_attribute("aria-current", "true")
    await expect(page.get_by_text("per 15 min")).to_be_visible()


async def test_what_runs_appears_without_a_reload(site: Site, dashboard: Dashboard) -> None:
    await site.worker()
    page = await dashboard.open()
    latest = page.get_by_role("region", name="Latest executions")
    await expect(latest).to_contain_text("Nothing has run yet.")
    await page.evaluate("window.sameDocument = true")
    await site.add("brand new")
    attempt = await site.take()
    await expect(latest).to_contain_text("brand new")
    await expect(latest).to_contain_text("running")
    await site.settle(attempt, Failed(error="no", permanent=True))
    await expect(latest).to_contain_text("failed")
    assert await page.evaluate("window.sameDocument") is True


async def test_a_value_is_shown_where_one_points(site: Site, dashboard: Dashboard) -> None:
    await site.add("first")
    await site.execute(Succeeded())
    page = await dashboard.open()
    plot = page.get_by_role("img", name=re.compile("Executions that ended"))
    await expect(plot).to_be_visible()
    await plot.hover()
    await expect(page.locator(".pointer:visible")).to_contain_text("completed 0")


def tile(page: Page, name: str) -> Locator:
    return page.locator(".tile", has=page.get_by_text(name, exact=True))
