"""For everybody: by keyboard, by ear, in the dark, enlarged, on a phone."""

from importlib import resources
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from mainspring.domain.outcome import Failed, Succeeded
from tests.browser.site import Site
from tests.browser.window import PHONE, Dashboard, window

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
PLACES = ["/", "/jobs", "/jobs/new", "/executions", "/dead-letters", "/workers", "/locks", "/audit", "/settings"]
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}

CUT_OFF = """
[...document.querySelectorAll("dd, .card p, td")]
    .filter((each) => each.scrollWidth > each.clientWidth && getComputedStyle(each).display !== "inline")
    .filter((each) => getComputedStyle(each).textOverflow !== "ellipsis" && !each.closest(".unseen"))
    .map((each) => each.textContent)
"""
"""What stands out of its place, but for what is shortened on purpose."""


async def populated(site: Site) -> list[str]:
    """Something on every page; the places to look at."""
    await site.scheduler()
    await site.worker("worker-with-quite-a-long-name-7", capacity=4)
    await site.add("a rather long name of a job that has to be shortened somewhere " * 2, schedule="@daily")
    good = await site.add("good one", payload={"key": "value " * 20})
    await site.execute(Succeeded(result=b'{"total": 1}'))
    await site.die("bad one", "unsupported format: " + "very " * 40 + "long")
    flaky = await site.add("flaky", retry={"initial_ms": 600_000, "max_ms": 600_000})
    await site.execute(Failed(error="connection reset"))
    await site.ask("POST", "locks/nightly/acquire", json={"holder": "importer-1", "ttl_ms": 600_000})
    return [*PLACES, f"/jobs/{good['id']}", f"/executions/{flaky['id']}"]


async def ready(page: Page) -> None:
    await expect(page.locator("h1")).to_be_visible()
    await expect(page.locator("main .loading")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_stands_in_the_way_of_assistive_technology(site: Site, browser: Browser, scheme: Any) -> None:
    async with window(browser, site.url, color_scheme=scheme, bypass_csp=True) as dashboard:
        for place in await populated(site):
            page = await dashboard.open(place)
            await ready(page)
            if not await page.evaluate("'axe' in window"):
                await page.evaluate(AXE)
            found = await page.evaluate("rules => axe.run(document, rules)", RULES)
            violations = [
                (each["id"], each["help"], [node["html"][:200] for node in each["nodes"][:3]])
                for each in found["violations"]
            ]
            assert violations == [], place


@pytest.mark.parametrize("viewport", [PHONE, {"width": 640, "height": 450}], ids=["phone", "200 % zoom"])
async def test_nothing_is_cut_off(site: Site, browser: Browser, viewport: Any) -> None:
    """A window of half the size is what a page enlarged to 200 % has."""
    async with window(browser, site.url, viewport=viewport, device_scale_factor=2) as dashboard:
        for place in await populated(site):
            page = await dashboard.open(place)
            await ready(page)
            assert await dashboard.overflow() <= 0, place
            assert await page.evaluate(CUT_OFF) == [], place


async def test_on_a_phone_the_pages_are_behind_a_button(site: Site, browser: Browser) -> None:
    async with window(browser, site.url, viewport=PHONE, has_touch=True, is_mobile=True) as dashboard:
        page = await dashboard.open()
        await expect(page.get_by_role("link", name="Workers", exact=True)).to_be_hidden()
        await page.get_by_role("button", name="Pages").tap()
        await page.get_by_role("link", name="Workers", exact=True).tap()
        await expect(page.get_by_role("heading", name="Workers")).to_be_visible()
        await expect(page.get_by_role("button", name="Pages")).to_have_attribute("aria-expanded", "false")


async def test_the_dark_is_dark(site: Site, browser: Browser) -> None:
    async with window(browser, site.url, color_scheme="dark") as dashboard:
        page = await dashboard.open()
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert max(int(part) for part in ground.removeprefix("rgb(").removesuffix(")").split(",")) < 64


async def test_everything_can_be_done_by_keyboard(site: Site, dashboard: Dashboard) -> None:
    """Add a job, pause it and delete it without touching a mouse."""
    page = await dashboard.open()
    await ready(page)
    await page.keyboard.press("n")
    await expect(page.get_by_label("Name", exact=True)).to_be_focused()
    await page.keyboard.type("by hand")
    await page.keyboard.press("Tab")
    await page.keyboard.type("test.echo")
    await page.get_by_label("Schedule", exact=True).focus()
    await page.keyboard.type("@daily")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="by hand")).to_be_focused()
    await reach(page, "Pause")
    await page.keyboard.press("Enter")
    await expect(page.locator(".lead .badge")).to_have_text("paused")
    await reach(page, "Delete")
    await page.keyboard.press("Space")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await reach(page, "Delete")
    await page.keyboard.press("Space")
    await reach(page, "Delete", inside="dialog")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    assert (await site.ask("GET", "jobs"))["items"] == []


async def reach(page: Page, name: str, inside: str = "main") -> None:
    """Press Tab until the focus is there."""
    for _ in range(60):
        here = await page.evaluate(
            "place => document.activeElement.closest(place) ? document.activeElement.innerText.trim() : ''", inside
        )
        if here == name:
            return
        await page.keyboard.press("Tab")
    pytest.fail(f"{name} can't be reached by Tab")


async def test_keys_lead_everywhere(dashboard: Dashboard) -> None:
    page = await dashboard.open()
    await ready(page)
    for key, heading in {"j": "Jobs", "w": "Workers", "l": "Locks", "a": "Audit", "o": "Overview"}.items():
        await page.keyboard.press("g")
        await page.keyboard.press(key)
        await expect(page.get_by_role("heading", name=heading, level=1)).to_be_focused()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


async def test_the_first_tab_skips_to_the_page(dashboard: Dashboard) -> None:
    page = await dashboard.open()
    await ready(page)
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()


async def test_what_somebody_types_survives_what_happens_meanwhile(site: Site, dashboard: Dashboard) -> None:
    page = await dashboard.open("/jobs")
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    search = page.get_by_label("Search in names")
    await search.focus()
    await search.press_sequentially("some")
    await site.add("something", schedule="@daily")
    await expect(page.locator("tbody .name")).to_have_text(["something"])
    await expect(search).to_be_focused()
    await expect(search).to_have_value("some")
