from playwright.async_api import Locator, Page, expect

from tests.browser.site import Site
from tests.browser.window import Dashboard


def group(page: Page, error: str) -> Locator:
    return page.get_by_role("region", name=error)


async def test_without_any_the_page_is_calm(dashboard: Dashboard) -> None:
    page = await dashboard.open("/dead-letters")
    await expect(page.get_by_text("Nothing is dead.")).to_be_visible()


async def test_they_are_grouped_by_what_they_died_of(site: Site, dashboard: Dashboard) -> None:
    for number in range(3):
        await site.die(f"payment {number}", "gateway timeout")
    await site.die("thumbnail", "unsupported format")
    page = await dashboard.open("/dead-letters")
    await expect(page.get_by_text("4 executions died of 2 causes.")).to_be_visible()
    await expect(page.locator(".group h2")).to_have_text(["gateway timeout", "unsupported format"])
    await expect(group(page, "gateway timeout").locator(".group-count")).to_contain_text("3")
    await expect(group(page, "gateway timeout").get_by_role("img")).to_be_visible()
    await group(page, "gateway timeout").get_by_text("Show 3 executions").click()
    await expect(group(page, "gateway timeout").locator("li .name")).to_have_count(3)


async def test_one_is_run_again(site: Site, dashboard: Dashboard) -> None:
    await site.die("first", "gateway timeout")
    await site.die("second", "gateway timeout")
    page = await dashboard.open("/dead-letters")
    await page.get_by_text("Show 2 executions").click()
    await page.get_by_role("button", name="Run first again").click()
    await expect(page.get_by_text("1 execution died of 1 cause.")).to_be_visible()
    assert len((await site.ask("GET", "executions?status=PENDING"))["items"]) == 1


async def test_some_are_run_again_at_a_rate(site: Site, dashboard: Dashboard) -> None:
    for number in range(4):
        await site.die(f"payment {number}", "gateway timeout")
    page = await dashboard.open("/dead-letters")
    await page.get_by_role("button", name="Run all again").click()
    await page.get_by_label("How many").fill("3")
    await page.get_by_label("How fast").select_option("10")
    await page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    await expect(page.get_by_text("3 done.")).to_be_visible()
    await page.get_by_role("button", name="Close").click()
    await expect(page.get_by_text("1 execution died of 1 cause.")).to_be_visible()
    assert len((await site.ask("GET", "executions?status=PENDING"))["items"]) == 3


async def test_all_of_a_group_are_discarded_with_a_reason_that_the_audit_keeps(
    site: Site, dashboard: Dashboard
) -> None:
    for number in range(2):
        await site.die(f"payment {number}", "gateway timeout")
    page = await dashboard.open("/dead-letters")
    await page.get_by_role("button", name="Discard").click()
    await page.get_by_label("Reason").fill("fixed upstream")
    await page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    await expect(page.get_by_text("2 done.")).to_be_visible()
    await page.get_by_role("button", name="Close").click()
    await expect(page.get_by_text("Nothing is dead.")).to_be_visible()
    entries = (await site.ask("GET", "audit"))["items"]
    reasons = [entry["after"] for entry in entries if entry["action"] == "dead_letter.discard"]
    assert reasons == [{"reason": "fixed upstream"}] * 2


async def test_a_death_appears_by_itself(site: Site, dashboard: Dashboard) -> None:
    page = await dashboard.open("/dead-letters")
    await expect(page.get_by_text("Nothing is dead.")).to_be_visible()
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    await site.die("payment", "gateway timeout")
    await expect(group(page, "gateway timeout")).to_be_visible()
    await expect(page.get_by_role("link", name="Dead letters 1 waiting")).to_be_visible()
