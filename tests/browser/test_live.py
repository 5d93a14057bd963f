"""What is seen is live, says so when it isn't, and follows the server's clock."""

import re
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from unittest.mock import AsyncMock

import pytest
from playwright.async_api import Browser, expect

from mainspring.adapters.system.chance import SystemRandom
from mainspring.errors import StoreUnavailable
from mainspring.services.lookout import Lookout
from mainspring.wiring.coordination import probes
from mainspring.wiring.settings import Settings
from servers.valkey import ValkeyServer
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
    await expect(page.get_by_text("Connected again. What was missed is shown.")).to_be_visible()
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
    jobs = [{"name": f"job {number:03}", "handler": "test.echo", "schedule": "@daily"} for number in range(100)]
    for first in range(0, len(jobs), 10):
        await site.ask("POST", "jobs/batch", json={"jobs": jobs[first : first + 10]})
    await expect(page.locator("tbody .name").first).to_have_text("job 099")
    assert len(asked) < 50


async def test_the_store_s_illness_is_told(site: Site, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    dashboard.expected = ["503", *BROKEN]
    page = await dashboard.open()
    health, attention = [page.get_by_role("region", name=name) for name in ("Health", "Needs attention")]
    await expect(health).to_contain_text("answers")
    full = AsyncMock(side_effect=StoreUnavailable("the disk is full"))
    with monkeypatch.context() as ill:
        for verb in ("now", "figures"):
            ill.setattr(site.store.views, verb, full)
        await dashboard.look()
        await expect(attention).to_contain_text("The store is away.")
        await expect(attention).to_contain_text("the disk is full")
    await dashboard.look()
    await expect(health).to_contain_text("answers")
    await site.stop()
    await dashboard.look()
    await expect(attention).to_contain_text("The server can't be reached.")
    await expect(health).to_contain_text("unknown")


async def test_pipes_are_told_as_they_are_lost_and_come_back(
    site: Site, dashboard: Dashboard, valkey_server: ValkeyServer
) -> None:
    page = await dashboard.open()
    health, attention = [page.get_by_role("region", name=name) for name in ("Health", "Needs attention")]
    await expect(health).to_contain_text("none: everything goes by the store")
    shown = f"redis://127.0.0.1:{valkey_server.port}/0"
    url = valkey_server.url()
    async with AsyncExitStack() as closing:
        [(probe, purposes)] = probes(Settings(signals=url, members=url), closing=closing)
        lookout = Lookout(probe, site.clock, SystemRandom())
        site.pipes += [partial(lookout.pipe, purpose) for purpose in purposes]
        await lookout.step()
        await dashboard.look()
        await expect(health.get_by_text(shown)).to_have_count(2)
        valkey_server.kill()
        await lookout.step()
        await dashboard.look()
        await expect(health.get_by_role("listitem").filter(has_text="Wake-ups")).to_contain_text("lost")
        await expect(attention).to_contain_text(f"Wake-ups and Leadership by {shown}: lost.")
        await expect(attention).to_contain_text(f"{shown} doesn't answer")
        valkey_server.start()
        await lookout.step()
        await dashboard.look()
        await expect(health.get_by_text(shown)).to_have_count(2)
        await expect(attention).not_to_contain_text("lost")
