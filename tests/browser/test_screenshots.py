"""The pictures of the documentation: `MAINSPRING_TEST_SCREENSHOTS=docs/images` makes them anew, else they're tried."""

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from mainspring.domain.outcome import Failed, Succeeded
from mainspring.ports.sessions import News
from tests.browser.site import MovableClock, Site, site
from tests.browser.window import PHONE, WIDE, window

pytestmark = pytest.mark.slow
STEP = timedelta(seconds=15)
STEPS = 60
BEFORE = timedelta(milliseconds=80)
NAMES = ("invoice sync", "price import", "search index", "thumbnails", "webhook relay", "cache warm-up")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(os.environ.get("MAINSPRING_TEST_SCREENSHOTS") or tmp_path)


async def lived(served: Site) -> None:
    """A quarter of an hour in the life of a small system, told by an unbiased die."""
    die = random.Random(7)
    end = served.clock.now()
    # The charts' steps end at whole multiples: what is added just before begins just after, and has waited meanwhile.
    end -= (end - datetime.min.replace(tzinfo=UTC)) % STEP
    served.clock.shift = -STEP * STEPS
    await served.worker("worker-1", capacity=32, host="compute-1", pid=2113)
    for number in range(STEPS):
        served.clock.shift += end - STEP * (STEPS - number - 1) - BEFORE - served.clock.now()
        jobs = [{"name": die.choice(NAMES), "handler": "test.echo", "max_retries": 0} for _ in range(die.randint(0, 5))]
        if not jobs:
            continue
        await served.ask("POST", "jobs/batch", json={"jobs": jobs})
        attempts = []
        for _ in jobs:
            served.clock.shift += timedelta(milliseconds=die.randint(5, 60))
            attempts.append(await served.take())
        for attempt in attempts:
            served.clock.shift += timedelta(milliseconds=die.randint(50, 400))
            broken = die.random() < 0.04
            await served.settle(attempt, Failed(error="gateway timeout after 30 s") if broken else Succeeded())
    served.clock.shift = timedelta(0)
    await served.scheduler()
    for number, executing in ((2, 23), (3, 8)):
        worker = await served.worker(f"worker-{number}", capacity=32, host=f"compute-{number}", pid=2112 + number)
        await served.store.sessions.beat(worker, News(executing=executing))
    for name, schedule in {
        "nightly report": "30 2 * * *",
        "weekly digest": "0 9 * * 1",
        "ledger export": "*/15 * * * *",
        "certificate check": "@every 6h",
        "rate refresh": "@every 5m",
    }.items():
        await served.add(name, schedule=schedule, timezone="Europe/Berlin")


async def test_the_pictures(browser: Browser, tmp_path: Path, folder: Path) -> None:
    async with site(tmp_path, clock=MovableClock()) as served:
        await lived(served)
        for scheme in ("light", "dark"):
            options = {"color_scheme": scheme, "viewport": {**WIDE, "height": 1000}, "device_scale_factor": 1.5}
            async with window(browser, served.url, **options) as dashboard:
                page = await dashboard.open()
                await expect(page.locator("main .loading")).to_have_count(0)
                await expect(page.get_by_text("Live", exact=True)).to_be_visible()
                await page.screenshot(path=folder / f"dashboard-{scheme}.png")
        async with window(browser, served.url, viewport={**WIDE, "height": 800}) as dashboard:
            page = await dashboard.open("/jobs/new")
            await page.get_by_label("Name", exact=True).fill("nightly report")
            await page.get_by_label("Handler", exact=True).fill("http.webhook")
            await page.get_by_role("button", name="Example").click()
            await page.get_by_label("Time zone").fill("Europe/Berlin")
            await page.get_by_label("Schedule", exact=True).fill("30 2 * * 1-5")
            await expect(page.locator(".moments li")).to_have_count(10)
            await page.screenshot(path=folder / "dashboard-new-job.png")
        async with window(browser, served.url, viewport=PHONE, device_scale_factor=2) as dashboard:
            page = await dashboard.open("/jobs")
            await expect(page.locator("tbody tr").first).to_be_visible()
            await page.screenshot(path=folder / "dashboard-phone.png")
