from pathlib import Path

from playwright.async_api import Browser, expect

from mainspring.api.access import Access, GivenKey
from tests.browser.site import site
from tests.browser.window import window

KEY = "a-key-of-ada-that-is-long-enough"
ACCESS = Access(open_without_keys=False, keys=(GivenKey("ada", KEY),))


async def test_with_keys_on_one_is_asked_for_and_kept_for_the_tab_only(browser: Browser, tmp_path: Path) -> None:
    async with site(tmp_path, access=ACCESS) as served, window(browser, served.url) as dashboard:
        dashboard.expected = ["401"]
        headers = {"Authorization": f"Bearer {KEY}"}
        await served.ask("POST", "jobs", json={"handler": "test.echo", "name": "ada's"}, headers=headers)
        page = await dashboard.open("/jobs")
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        await expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
        await page.get_by_label("API key", exact=True).fill("ms_live_wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("This key is unknown, revoked or expired.")).to_be_visible()
        await page.get_by_label("API key", exact=True).fill(KEY)
        await page.keyboard.press("Enter")
        await expect(page.locator("tbody .name")).to_have_text(["ada's"])
        await expect(page.get_by_text("Live", exact=True)).to_be_visible()
        await page.reload()
        await expect(page.locator("tbody .name")).to_have_text(["ada's"])
        assert KEY not in str(await page.evaluate("JSON.stringify(localStorage) + document.cookie"))
        assert KEY in str(await page.evaluate("JSON.stringify(sessionStorage)"))


async def test_signing_out_forgets_the_key(browser: Browser, tmp_path: Path) -> None:
    async with site(tmp_path, access=ACCESS) as served, window(browser, served.url) as dashboard:
        dashboard.expected = ["401"]
        page = await dashboard.open("/settings")
        await page.get_by_label("API key", exact=True).fill(KEY)
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert await page.evaluate("sessionStorage.length") == 0
