import re

from playwright.async_api import Locator, Page, expect

from tests.browser.site import Site
from tests.browser.window import Dashboard


def moments(page: Page) -> Locator:
    return page.get_by_role("region", name="When it runs").locator("li")


async def test_a_schedule_is_explained_while_it_is_typed(dashboard: Dashboard) -> None:
    # Who types slowly has half a schedule looked at, and refused.
    dashboard.expected = ["422"]
    page = await dashboard.open("/jobs/new")
    await page.get_by_label("Schedule", exact=True).press_sequentially("30 9 * * MON-FRI")
    await expect(page.get_by_text("It runs at 09:30, Monday to Friday.")).to_be_visible()
    await expect(moments(page)).to_have_count(10)
    await expect(moments(page).first).to_contain_text("09:30")


async def test_daylight_saving_is_marked(dashboard: Dashboard) -> None:
    """Every first of a month in a zone with daylight saving crosses at least one change in ten months."""
    page = await dashboard.open("/jobs/new")
    await page.get_by_label("Time zone").fill("Europe/Berlin")
    await page.get_by_label("Schedule", exact=True).fill("0 6 1 * *")
    await expect(moments(page)).to_have_count(10)
    await expect(page.locator(".dst").first).to_contain_text("the clock goes from UTC+0")
    await expect(moments(page).first).to_contain_text("06:00")


async def test_what_is_wrong_with_a_schedule_is_pointed_at(dashboard: Dashboard) -> None:
    dashboard.expected = ["422"]
    page = await dashboard.open("/jobs/new")
    await page.get_by_label("Schedule", exact=True).fill("0 25 * * *")
    await expect(page.get_by_role("region", name="When it runs").locator(".fault")).to_contain_text("25")


async def test_a_preset_is_a_beginning(dashboard: Dashboard) -> None:
    page = await dashboard.open("/jobs/new")
    await page.get_by_role("button", name="@every 5m").click()
    await expect(page.get_by_label("Schedule", exact=True)).to_have_value("@every 5m")
    await expect(page.get_by_text("It runs again and again, every 5 minutes.")).to_be_visible()


async def test_a_job_is_added_with_its_payload_as_it_was_typed(site: Site, dashboard: Dashboard) -> None:
    page = await dashboard.open("/jobs/new")
    await page.get_by_label("Name", exact=True).fill("nightly report")
    await page.get_by_label("Handler", exact=True).fill("test.echo")
    await page.get_by_label("Payload").fill('{"price": 1.10, "n": 12345678901234567890}')
    await page.get_by_label("Schedule", exact=True).fill("@daily")
    await page.get_by_text("Priority, retries").click()
    await page.get_by_label("Priority").fill("90")
    await page.get_by_label("Overlap").select_option("skip")
    await page.get_by_role("button", name="Add job").click()
    await expect(page.get_by_role("heading", name="nightly report")).to_be_visible()
    [job] = (await site.ask("GET", "jobs"))["items"]
    assert (job["name"], job["schedule"], job["priority"], job["overlap"]) == ("nightly report", "@daily", 90, "skip")
    await expect(page.locator(".verbatim").first).to_contain_text('"price": 1.10')


async def test_faults_stand_beside_their_fields(site: Site, dashboard: Dashboard) -> None:
    dashboard.expected = ["422"]
    page = await dashboard.open("/jobs/new")
    await page.get_by_role("button", name="Add job").click()
    await expect(page.get_by_label("Handler", exact=True)).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_label("Handler", exact=True)).to_be_focused()
    await page.get_by_label("Handler", exact=True).fill("test.echo")
    await page.get_by_label("Payload").fill("{not json")
    await expect(page.locator("#fault-payload")).to_contain_text("This isn't JSON")
    await page.get_by_label("Payload").fill("")
    await page.get_by_text("Priority, retries").click()
    await page.get_by_label("Priority").fill("101")
    await page.get_by_role("button", name="Add job").click()
    await expect(page.locator("#fault-priority")).to_contain_text("100")
    assert (await site.ask("GET", "jobs"))["items"] == []


async def test_an_edit_sends_only_what_was_changed(site: Site, dashboard: Dashboard) -> None:
    job = await site.add("nightly", schedule="@daily", payload={"keep": 1})
    page = await dashboard.open(f"/jobs/{job['id']}")
    await page.get_by_role("link", name="Edit").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_value("nightly")
    async with page.expect_request(lambda request: request.method == "PATCH") as sent:
        await page.get_by_label("Name", exact=True).fill("weekly")
        await page.get_by_role("button", name="Save changes").click()
    assert (await sent.value).post_data_json == {"name": "weekly"}
    await expect(page.get_by_role("heading", name="weekly")).to_be_visible()
    assert (await site.ask("GET", f"jobs/{job['id']}"))["payload"] == {"keep": 1}


async def test_somebody_else_s_change_isn_t_overwritten(site: Site, dashboard: Dashboard) -> None:
    dashboard.expected = ["412"]
    job = await site.add("nightly", schedule="@daily")
    page = await dashboard.open(f"/jobs/{job['id']}/edit")
    await expect(page.get_by_label("Name", exact=True)).to_have_value("nightly")
    await site.ask("PATCH", f"jobs/{job['id']}", json={"name": "theirs"})
    await page.get_by_label("Name", exact=True).fill("mine")
    await page.get_by_role("button", name="Save changes").click()
    await expect(page.get_by_text("Somebody has changed this job meanwhile.")).to_be_visible()
    await page.get_by_role("link", name="Load it again").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_value("theirs")


async def test_examples_help_with_the_payload(dashboard: Dashboard) -> None:
    page = await dashboard.open("/jobs/new")
    await page.get_by_label("Handler", exact=True).fill("http.webhook")
    await page.get_by_role("button", name="Example").click()
    await expect(page.get_by_label("Payload")).to_have_value(re.compile(r'"url"'))
