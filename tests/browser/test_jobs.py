import re
from datetime import timedelta
from typing import Any

from playwright.async_api import Locator, Page, expect

from mainspring.domain.outcome import Failed, HandedBack, Lost, Succeeded
from mainspring.domain.suspects import EXPIRED, WAITS
from mainspring.ports.sessions import News
from tests.browser.site import Site
from tests.browser.window import Dashboard


def names(page: Page) -> Locator:
    return page.locator("tbody .main .name")


async def test_without_jobs_the_page_says_how_to_make_one(dashboard: Dashboard) -> None:
    page = await dashboard.open("/jobs")
    await expect(page.get_by_text("There are no jobs yet.")).to_be_visible()
    await expect(page.get_by_text("mainspring job add test.echo")).to_be_visible()
    await page.locator(".empty").get_by_role("link", name="New job").click()
    await expect(page.get_by_role("heading", name="New job")).to_be_visible()


async def test_filters_are_kept_in_the_address(site: Site, dashboard: Dashboard) -> None:
    await site.add("invoices", schedule="@daily")
    await site.add("reports", schedule="@daily", handler="test.delay")
    page = await dashboard.open("/jobs")
    await expect(names(page)).to_have_text(["reports", "invoices"])
    await page.get_by_label("Search in names").fill("invo")
    await expect(names(page)).to_have_text(["invoices"])
    await expect(page).to_have_url(re.compile(r"#/jobs\?q=invo$"))
    await page.reload()
    await expect(page.get_by_label("Search in names")).to_have_value("invo")
    await expect(names(page)).to_have_text(["invoices"])
    await page.get_by_role("button", name="Clear").click()
    await page.get_by_label("Handler", exact=True).fill("test.delay")
    await expect(names(page)).to_have_text(["reports"])
    await page.get_by_label("Status").select_option("PAUSED")
    await expect(page.get_by_text("No job fits.")).to_be_visible()
    await expect(page).to_have_url(re.compile(r"status=PAUSED"))


async def test_pages_are_cut_by_key_and_lead_back(site: Site, dashboard: Dashboard) -> None:
    jobs = [{"handler": "test.echo", "name": f"job {number:03}", "schedule": "in 1h"} for number in range(120)]
    await site.ask("POST", "jobs/batch", json={"jobs": jobs})
    newest = await site.ask("GET", "jobs?limit=100")
    order = [job["name"] for job in newest["items"]]
    page = await dashboard.open("/jobs")
    await expect(names(page)).to_have_text(order[:50])
    await page.get_by_role("button", name="Older").click()
    await expect(names(page)).to_have_text(order[50:100])
    await page.get_by_role("button", name="Older").click()
    await expect(names(page)).to_have_count(20)
    await expect(page.get_by_role("button", name="Older")).to_be_disabled()
    await page.get_by_role("button", name="Newer").click()
    await expect(names(page)).to_have_text(order[50:100])
    await page.go_back()
    await expect(names(page)).to_have_count(20)


async def test_a_job_that_somebody_else_adds_appears(site: Site, dashboard: Dashboard) -> None:
    page = await dashboard.open("/jobs")
    await expect(page.get_by_text("There are no jobs yet.")).to_be_visible()
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    job = await site.add("from elsewhere", schedule="@daily")
    await expect(names(page)).to_have_text(["from elsewhere"])
    await site.ask("POST", f"jobs/{job['id']}/pause")
    await expect(page.locator("tbody .badge")).to_have_text("paused")


async def test_what_is_overdue_runs_next_now(site: Site, dashboard: Dashboard) -> None:
    await site.add("late", schedule="in 5s")
    site.clock.shift = timedelta(minutes=1)
    page = await dashboard.open("/jobs")
    await expect(page.get_by_role("row", name=re.compile("late")).locator("[data-name='Next run']")).to_have_text("now")


async def test_pausing_can_be_undone(site: Site, dashboard: Dashboard) -> None:
    job = await site.add("nightly", schedule="@daily")
    page = await dashboard.open("/jobs")
    await page.get_by_role("button", name="Pause nightly").click()
    await expect(page.locator("tbody .badge")).to_have_text("paused")
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("tbody .badge")).to_have_text("scheduled")
    assert (await site.ask("GET", f"jobs/{job['id']}"))["status"] == "SCHEDULED"


async def test_triggering_leads_to_the_execution(site: Site, dashboard: Dashboard) -> None:
    await site.add("nightly", schedule="@daily")
    page = await dashboard.open("/jobs")
    await page.get_by_role("button", name="Trigger nightly").click()
    await page.get_by_role("button", name="Show", exact=True).click()
    await expect(page).to_have_url(re.compile("#/executions/"))
    await expect(page.get_by_role("heading", name="nightly")).to_be_visible()


async def test_deleting_asks_first_and_can_be_taken_back(site: Site, dashboard: Dashboard) -> None:
    payload = (
        '{"handler": "test.echo", "name": "nightly", "schedule": "@daily", "payload": {"n": 12345678901234567890}}'
    )
    await site.ask("POST", "jobs", content=payload, headers={"Content-Type": "application/json"})
    page = await dashboard.open("/jobs")
    await page.get_by_role("button", name="Delete nightly").click()
    await page.get_by_role("button", name="Keep as it is").click()
    await expect(names(page)).to_have_text(["nightly"])
    await page.get_by_role("button", name="Delete nightly").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("There are no jobs yet.")).to_be_visible()
    await page.get_by_role("button", name="Bring back").click()
    await expect(names(page)).to_have_text(["nightly"])
    [job] = (await site.ask("GET", "jobs"))["items"]
    assert job["payload"] == {"n": 12345678901234567890}


async def test_many_are_acted_on_at_once_with_their_progress(site: Site, dashboard: Dashboard) -> None:
    for number in range(5):
        await site.add(f"job {number}", schedule="@daily")
    page = await dashboard.open("/jobs")
    await page.get_by_label("Select job 1").check()
    await page.get_by_label("Select job 3").check()
    await expect(page.get_by_text("2 selected")).to_be_visible()
    await page.get_by_role("toolbar").get_by_role("button", name="Pause").click()
    await page.get_by_role("button", name="Pause 2 jobs").click()
    await expect(page.get_by_role("dialog").get_by_text("2 done.")).to_be_visible()
    await page.get_by_role("button", name="Close").click()
    await expect(page.locator(".badge.paused")).to_have_count(2)
    assert len((await site.ask("GET", "jobs?status=PAUSED"))["items"]) == 2


async def test_all_that_match_means_other_pages_too(site: Site, dashboard: Dashboard) -> None:
    jobs = [{"handler": "test.echo", "name": f"job {number:03}", "schedule": "@daily"} for number in range(60)]
    await site.ask("POST", "jobs/batch", json={"jobs": jobs})
    await site.add("another", schedule="@daily")
    page = await dashboard.open("/jobs?q=job")
    await page.get_by_label("Select all jobs of this page").check()
    await page.get_by_role("button", name="Select all that match").click()
    await page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    await page.get_by_role("button", name="Delete all matching jobs").click()
    await expect(page.get_by_role("dialog").get_by_text("60 done.")).to_be_visible()
    await page.get_by_role("button", name="Close").click()
    assert [job["name"] for job in (await site.ask("GET", "jobs"))["items"]] == ["another"]


async def test_what_fails_among_many_is_named(site: Site, dashboard: Dashboard) -> None:
    await site.add("over and done")
    await site.execute(Succeeded())
    await site.add("nightly", schedule="@daily")
    dashboard.expected = ["409"]
    page = await dashboard.open("/jobs")
    await page.get_by_label("Select all jobs of this page").check()
    await page.get_by_role("toolbar").get_by_role("button", name="Pause").click()
    await page.get_by_role("button", name="Pause 2 jobs").click()
    await expect(page.get_by_role("dialog").get_by_text("1 done, 1 failure.")).to_be_visible()
    await expect(page.get_by_role("dialog").locator(".errors")).to_contain_text("over and done")


async def test_a_job_s_page_shows_what_it_is_and_what_became_of_it(site: Site, dashboard: Dashboard) -> None:
    payload = '{"handler": "test.echo", "name": "nightly", "schedule": "0 6 * * 1-5", "timezone": "Europe/Berlin", '
    payload += '"description": "Figures for finance", "payload": {"price": 1.10, "n": 12345678901234567890}}'
    job = await site.ask("POST", "jobs", content=payload, headers={"Content-Type": "application/json"})
    await site.ask("POST", f"jobs/{job['id']}/trigger")
    await site.execute(Succeeded())
    page = await dashboard.open(f"/jobs/{job['id']}")
    await expect(page.get_by_role("heading", name="nightly")).to_be_visible()
    await expect(page.get_by_text("Runs at 06:00, Monday to Friday (Europe/Berlin)")).to_be_visible()
    await expect(page.get_by_text("Figures for finance", exact=True)).to_be_visible()
    await expect(page.get_by_role("group", name="Payload")).to_contain_text('"n": 12345678901234567890')
    await expect(page.get_by_role("group", name="Payload")).to_contain_text('"price": 1.10')
    await expect(page.get_by_role("region", name="Executions")).to_contain_text("completed")
    await expect(page.get_by_role("img", name=re.compile(r"^1 run in the last"))).to_be_visible()
    await expect(page.locator(".calendar .coming").first).to_be_visible()
    assert await page.locator(".calendar .ahead").count() >= 3, "weekends are free"
    await expect(page.get_by_role("region", name="Audit")).to_contain_text("job.trigger")


async def test_a_job_that_is_gone_says_so(dashboard: Dashboard) -> None:
    dashboard.expected = ["404"]
    page = await dashboard.open("/jobs/00000000-0000-7000-8000-000000000000")
    await expect(page.get_by_text("There is no such job.")).to_be_visible()


async def test_cancelling_a_job_s_runs(site: Site, dashboard: Dashboard) -> None:
    job = await site.add("later", schedule="in 1h")
    page = await dashboard.open(f"/jobs/{job['id']}")
    await page.get_by_role("button", name="Cancel runs").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel runs").click()
    await expect(page.locator(".lead .badge")).to_have_text("cancelled")


async def why(dashboard: Dashboard, job: Any, verdict: str | re.Pattern[str]) -> None:
    """The page of *job* says why it isn't running."""
    page = await dashboard.open(f"/jobs/{job['id']}")
    await expect(page.locator(".gates li")).not_to_have_count(0)
    await expect(page.locator(".verdict")).to_have_text(verdict)


async def test_why_it_isn_t_running_is_answered_gate_by_gate(site: Site, dashboard: Dashboard) -> None:
    """Each gate that can be shut, one after the other."""
    await site.scheduler()
    waiting = await site.add("waiting")
    await why(dashboard, waiting, "No worker is alive.")
    await site.worker(capacity=1)
    await expect(dashboard.page.locator(".verdict")).to_have_text("Nothing holds it: a worker takes it any moment.")
    unserved = await site.add("unserved", lane="gpu")
    await why(dashboard, unserved, "None of 1 live worker serves the lane gpu.")
    unknown = await site.add("unknown", handler="ml.train", allow_unknown_handler=True)
    await why(dashboard, unknown, "No worker has ever had the handler ml.train.")
    off = await site.add("off", handler="shell.script")
    await why(dashboard, off, "No worker may run the built-in handler shell.script.")
    await site.execute(HandedBack(delay=timedelta(hours=1), reason="shell handlers are off on this worker"))
    await why(dashboard, waiting, "A worker handed it back: shell handlers are off on this worker.")
    paused = await site.add("paused", schedule="@daily")
    await site.ask("POST", f"jobs/{paused['id']}/pause")
    await why(dashboard, paused, "The job is paused: nothing fires.")
    await why(dashboard, await site.add("later", schedule="in 1h"), re.compile(r"It is due in (59 min|1 h)"))
    await why(dashboard, await site.add("manual", schedule="on-demand"), "It runs only when it is triggered.")
    await why(dashboard, await site.add("hourly", schedule="@hourly"), re.compile("Its next moment is in"))


async def test_why_names_backoff_busy_slots_and_what_has_ended(site: Site, dashboard: Dashboard) -> None:
    session = await site.worker(capacity=1)
    flaky = await site.add("flaky", retry={"initial_ms": 3_600_000, "max_ms": 3_600_000})
    await site.execute(Failed(error="no"))
    await why(dashboard, flaky, re.compile("Attempt 1 failed; the next begins in"))
    over = await site.add("over")
    await site.execute(Succeeded())
    await why(dashboard, over, "It has run and completed, and has no more moments.")
    await site.store.sessions.beat(session, News(executing=1))
    await why(dashboard, await site.add("waiting"), "The only slot is busy.")


async def test_why_a_suspect_isn_t_running_is_said_and_what_to_do_about_it(site: Site, dashboard: Dashboard) -> None:
    job = await site.add("deadly")
    for _ in range(2):
        await site.execute(Lost(shared=EXPIRED))
    await why(dashboard, job, f"It is a {WAITS}.")
    page = await dashboard.open()
    attention = page.get_by_role("region", name="Needs attention")
    await expect(attention).to_contain_text("1 execution under suspicion")
