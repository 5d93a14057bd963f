import re
from datetime import UTC, datetime
from uuid import UUID

from playwright.async_api import expect

from mainspring.domain.ids import JobId, fired_run_id
from mainspring.domain.outcome import Failed, Succeeded
from mainspring.domain.plan import Skip, SkipReason
from mainspring.ports.output import Printed
from tests.browser.site import Site
from tests.browser.window import Dashboard

NO_WAIT = {"initial_ms": 0, "max_ms": 0}


async def test_executions_are_listed_by_name_and_filtered_by_status(site: Site, dashboard: Dashboard) -> None:
    await site.add("good one")
    await site.execute(Succeeded())
    await site.die("bad one", "it broke")
    page = await dashboard.open("/executions")
    await expect(page.locator("tbody .name")).to_have_text(["bad one", "good one"])
    await page.get_by_role("link", name="failed").click()
    await expect(page.locator("tbody .name")).to_have_text(["bad one"])
    await expect(page).to_have_url(re.compile("status=FAILED"))
    await page.get_by_label("Worker").fill("nobody")
    await expect(page.get_by_text("No execution fits.")).to_be_visible()


async def test_every_attempt_is_shown_with_its_wait_and_its_error(site: Site, dashboard: Dashboard) -> None:
    job = await site.add("flaky", max_retries=1, retry=NO_WAIT)
    await site.execute(Failed(error="first\nboom"))
    await site.execute(Failed(error="second boom"))
    page = await dashboard.open(f"/executions/{job['id']}")
    attempts = page.get_by_role("region", name="Attempts")
    await expect(attempts.locator("tbody tr")).to_have_count(2)
    await expect(attempts).to_contain_text("boom")
    await expect(page.get_by_role("img", name=re.compile("waiting .*attempt 1 .*attempt 2"))).to_be_visible()
    await expect(page.get_by_role("group", name="Error")).to_have_text("second boom")
    await expect(page.locator(".lead")).to_contain_text("retries exhausted")
    await expect(page.get_by_role("region", name="Details")).to_contain_text("worker-1")


async def test_output_follows_while_it_runs(site: Site, dashboard: Dashboard) -> None:
    job = await site.add("talkative")
    attempt = await site.take()

    async def printed(text: str) -> None:
        said = text.encode()
        await site.store.output.write(
            [Printed(run_id=attempt.run_id, fence=attempt.fence, head=said, length=len(said))]
        )

    page = await dashboard.open(f"/executions/{job['id']}")
    await expect(page.get_by_text("It has printed nothing yet.")).to_be_visible()
    await printed("line 1\n")
    output = page.get_by_role("group", name="Output")
    await expect(output).to_contain_text("line 1")
    await printed("".join(f"line {number}\n" for number in range(200)))
    await expect(output).to_contain_text("line 199")
    assert await output.evaluate("box => box.scrollTop + box.clientHeight >= box.scrollHeight - 2")
    await output.evaluate("box => { box.scrollTop = 0; }")
    await printed("".join(f"line {number}\n" for number in range(400)))
    await expect(output).to_contain_text("line 399")
    assert await output.evaluate("box => box.scrollTop") == 0
    await site.settle(attempt, Succeeded(result=b'{"total": 1.50}'))
    await expect(page.locator(".lead .badge")).to_have_text("completed")
    await expect(page.get_by_role("group", name="Result")).to_contain_text('"total": 1.50')


async def test_a_waiting_execution_says_why_and_can_be_cancelled(site: Site, dashboard: Dashboard) -> None:
    job = await site.add("waiting", payload={"order": 7})
    page = await dashboard.open(f"/executions/{job['id']}")
    await expect(page.locator(".verdict")).to_have_text("No worker is alive.")
    await expect(page.get_by_role("group", name="Payload")).to_contain_text('"order": 7')
    await page.get_by_role("button", name="Cancel").click()
    await page.get_by_role("button", name="Cancel it").click()
    await expect(page.locator(".lead .badge")).to_have_text("cancelled")
    await expect(page.get_by_role("region", name="Audit")).to_contain_text("execution.cancel")


async def test_what_failed_is_run_again_as_a_new_execution(site: Site, dashboard: Dashboard) -> None:
    job = await site.die("bad one", "it broke")
    page = await dashboard.open(f"/executions/{job['id']}")
    await page.get_by_role("button", name="Run again").click()
    await page.get_by_role("button", name="Show", exact=True).click()
    await expect(page).not_to_have_url(re.compile(job["id"]))
    await expect(page.get_by_role("region", name="Details")).to_contain_text("Run again of")
    await expect(page.locator(".lead .badge")).to_have_text("pending")


async def test_a_skipped_range_says_how_many_fire_times_and_until_when(site: Site, dashboard: Dashboard) -> None:
    job_id = JobId(UUID((await site.add("nightly", schedule="@every 1h"))["id"]))
    record = await site.store.views.job(job_id)
    assert record is not None
    first, last = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 2, 12, tzinfo=UTC)
    skip = Skip(job_id=job_id, first=first, last=last, count=37, reason=SkipReason.MISFIRE)
    await site.store.timetable.save(record.job, record.job, [skip])
    page = await dashboard.open(f"/jobs/{job_id}")
    await expect(page.get_by_text("misfire: 37 fire times skipped")).to_be_visible()
    page = await dashboard.open(f"/executions/{fired_run_id(job_id, first)}")
    await expect(page.locator(".lead")).to_contain_text("37 fire times skipped (misfire), from Tue, 1 Jan 2030")
    await expect(page.locator(".lead")).to_contain_text("to Wed, 2 Jan 2030")
    await expect(page.get_by_role("region", name="Details")).to_contain_text("Skipped to")
    await expect(page.get_by_role("button", name="Run again")).to_have_count(0)


async def test_a_trace_is_linked_once_somebody_says_where_traces_are(site: Site, dashboard: Dashboard) -> None:
    job = await site.add("traced")
    page = await dashboard.open("/settings")
    await page.get_by_label("Address").fill("javascript:alert(1)//{execution}")
    await page.get_by_label("Address").press("Tab")
    await dashboard.open(f"/executions/{job['id']}")
    await expect(page.get_by_role("link", name="Say where traces are")).to_be_visible()
    await dashboard.open("/settings")
    await page.get_by_label("Address").fill("https://traces.example.com/?q={execution}")
    await page.get_by_label("Address").press("Tab")
    await dashboard.open(f"/executions/{job['id']}")
    link = page.get_by_role("link", name="Open the trace")
    await expect(link).to_have_attribute("href", f"https://traces.example.com/?q={job['id']}")


async def test_an_execution_that_is_gone_says_so(dashboard: Dashboard) -> None:
    dashboard.expected = ["404"]
    page = await dashboard.open("/executions/00000000-0000-7000-8000-000000000000")
    await expect(page.get_by_text("There is no such execution.")).to_be_visible()
