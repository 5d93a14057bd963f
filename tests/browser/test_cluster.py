"""Workers, locks, the audit, settings."""

import re

from playwright.async_api import expect

from mainspring.ports.sessions import News, Role
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
    await page.get_by_role("link", name="worker-7").click()
    await expect(page).to_have_url(re.compile("#/executions.worker=worker-7"))


async def test_a_worker_is_drained_and_resumed_by_a_button(site: Site, dashboard: Dashboard) -> None:
    session = await site.worker("worker-7", capacity=4)
    await site.store.sessions.beat(session, News(executing=3))
    waiting = await site.add("waiting")
    page = await dashboard.open("/workers")
    row = page.get_by_role("row", name=re.compile("worker-7"))
    await expect(row).to_contain_text("active")
    await page.get_by_role("button", name="Drain worker-7").click()
    await expect(row).to_contain_text("draining, 3 left")
    await expect(page.get_by_text("worker-7 takes no more work.")).to_be_visible()
    await site.store.sessions.beat(session, News(drained=True))
    await expect(row).to_contain_text("drained")
    await dashboard.open(f"/jobs/{waiting['id']}")
    verdict = "The only live worker on the lane default is draining: it takes nothing."
    await expect(page.locator(".verdict")).to_have_text(verdict)
    await dashboard.open("/workers")
    await page.get_by_role("button", name="Resume worker-7").click()
    await expect(row).to_contain_text("active")
    [member] = await site.store.sessions.live(Role.WORKER)
    assert not member.draining


async def test_locks_that_are_held_can_be_seen_and_released(site: Site, dashboard: Dashboard) -> None:
    dashboard.expected = ["404"]
    await site.ask("POST", "locks/nightly/acquire", json={"holder": "importer-1", "ttl_ms": 600_000})
    page = await dashboard.open("/locks")
    held = page.get_by_role("region", name="Held now")
    await expect(held).to_contain_text("importer-1")
    await expect(held).to_contain_text(re.compile(r"in (10|9) min"))
    await page.get_by_role("button", name="Release nightly").click()
    await page.get_by_role("dialog").get_by_role("button", name="Release").click()
    await expect(held).to_contain_text("No lock is held")
    await expect(held).to_contain_text("mainspring lock acquire")
    await page.get_by_label("Name of a lock").fill("nightly")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Nobody holds it.")).to_be_visible()
    await expect(page).to_have_url(re.compile("name=nightly"))


async def test_locks_come_and_go_by_themselves_under_their_names(site: Site, dashboard: Dashboard) -> None:
    page = await dashboard.open("/locks")
    held = page.get_by_role("region", name="Held now")
    await expect(held).to_contain_text("No lock is held")
    for name, holder, ttl in (("weekly", "ann", 500_000), ("nightly/a b", "ben", 600_000), ("brief", "cid", 4000)):
        await site.ask("POST", f"locks/{name}/acquire", json={"holder": holder, "ttl_ms": ttl})
    await expect(held.locator("tbody .name")).to_have_text(["nightly/a b", "weekly"])
    await page.get_by_role("button", name="Release nightly/a b").click()
    await expect(page.get_by_role("dialog")).to_contain_text("ben believes that it holds this lock")
    await page.get_by_role("dialog").get_by_role("button", name="Release").click()
    await expect(held.locator("tbody .name")).to_have_text(["weekly"])


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


async def test_the_first_key_is_made_here_and_one_goes_on_with_it(site: Site, dashboard: Dashboard) -> None:
    dashboard.expected = ["401"]
    page = await dashboard.open("/settings")
    await expect(page.get_by_text("No key exists")).to_be_visible()
    form = page.get_by_role("form", name="New key")
    await form.get_by_label("Name").fill("mine")
    await form.get_by_label("Scope").select_option("admin")
    await form.get_by_role("button", name="Make a key").click()
    secret = await page.get_by_role("dialog").locator("code").inner_text()
    await page.get_by_role("button", name="I have it").click()
    await expect(page.get_by_role("row", name=re.compile("mine"))).to_contain_text("admin")
    await site.ask("GET", "jobs", headers={"Authorization": f"Bearer {secret}"})
    assert secret not in await page.content()


async def test_a_key_is_revoked_after_a_question(site: Site, dashboard: Dashboard) -> None:
    made = await site.ask("POST", "keys", json={"name": "mine", "scope": "admin"})
    admin = {"Authorization": f"Bearer {made['key']}"}
    await site.ask("POST", "keys", json={"name": "the importer"}, headers=admin)
    dashboard.expected = ["401"]
    page = await dashboard.open("/settings")
    await page.get_by_label("API key", exact=True).fill(made["key"])
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Revoke the importer").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_role("row", name=re.compile("the importer"))).to_contain_text("revoked")
    await expect(page.get_by_role("button", name="Revoke the importer")).to_have_count(0)


async def test_a_page_that_isn_t_there_leads_home(dashboard: Dashboard) -> None:
    page = await dashboard.open("/nowhere")
    await page.get_by_role("link", name="To the overview").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
