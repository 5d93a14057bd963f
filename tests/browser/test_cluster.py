"""Workers, locks, the audit, settings."""

import re

from playwright.async_api import expect

from mainspring.ports.sessions import News
from tests.browser.site import Site
from tests.browser.window import Dashboard


async def test_workers_show_their_slots_lanes_and_heartbeat(site: Site, dashboard: Dashboard) -> None:
    page = await dashboard.open("/workers")
    await expect(page.get_by_text("No worker is alive: nothing runs.")).to_be_visible()
    session = await site.worker("worker-7", capacity=4, host="host-a", pid=4711, handlers={"my.task": "special"})
    await site.store.sessions.beat(session, News(executing=3))
    await expect(page.get_by_role("row", name=re.compile("worker-7"))).to_contain_text("3 of 4")
    await expect(page.get_by_role("row", name=re.compile("worker-7"))).to_contain_text("special")
    await page.reload()
    await expect(page.get_by_role("region", name="Handlers by lane")).to_contain_text("my.task")
    await page.get_by_role("button", name="Drain worker-7").click()
    await expect(page.get_by_role("dialog")).to_contain_text("kill -TERM 4711")
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name="worker-7").click()
    await expect(page).to_have_url(re.compile("#/executions.worker=worker-7"))


async def test_locks_that_are_held_can_be_seen_and_released(site: Site, dashboard: Dashboard) -> None:
    dashboard.expected = ["404"]
    await site.ask("POST", "locks/nightly/acquire", json={"holder": "importer-1", "ttl_ms": 600_000})
    page = await dashboard.open("/locks")
    held = page.get_by_role("region", name="Held now")
    await expect(held).to_contain_text("importer-1")
    await page.get_by_role("button", name="Release nightly").click()
    await page.get_by_role("dialog").get_by_role("button", name="Release").click()
    await expect(held).to_contain_text("No lock is held")
    await page.get_by_label("Name of a lock").fill("nightly")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Nobody holds it.")).to_be_visible()
    await expect(page).to_have_url(re.compile("name=nightly"))


async def test_the_audit_says_who_did_what_and_what_it_changed(site: Site, dashboard: Dashboard) -> None:
    job = await site.add("nightly", schedule="@daily")
    await site.ask("PATCH", f"jobs/{job['id']}", json={"priority": 90}, headers={"X-User-ID": "ada"})
    page = await dashboard.open("/audit")
    first = page.locator("tbody tr").first
    await expect(first).to_contain_text("ada")
    await expect(first).to_contain_text("job.update")
    await expect(first).to_contain_text("priority: 50 → 90")
    await first.get_by_role("link").click()
    await expect(page.get_by_role("heading", name="nightly")).to_be_visible()


async def test_the_colours_and_the_time_zone_are_kept(dashboard: Dashboard) -> None:
    page = await dashboard.open("/settings")
    await page.get_by_label("Dark").check()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await page.get_by_role("group", name="Times").get_by_label("UTC", exact=True).check()
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await expect(page.locator(".clock")).to_contain_text("UTC")


async def test_without_keys_settings_say_how_to_make_one(dashboard: Dashboard) -> None:
    page = await dashboard.open("/settings")
    await expect(page.get_by_text("mainspring key create")).to_be_visible()


async def test_a_page_that_isn_t_there_leads_home(dashboard: Dashboard) -> None:
    page = await dashboard.open("/nowhere")
    await page.get_by_role("link", name="To the overview").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
