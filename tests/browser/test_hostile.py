"""Whatever users and programs write is text: it never becomes markup, and never runs."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from mainspring.domain.outcome import Failed
from mainspring.ports.output import Printed
from tests.browser.site import Site
from tests.browser.window import Dashboard

CORPUS = [
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "<svg onload=window.hacked=1>",
    "javascript:window.hacked=1",
    "</title></style></textarea><iframe srcdoc='<script>parent.hacked=1</script>'>",
    "{{constructor.constructor('window.hacked=1')()}}${window.hacked=1}",
    "' onmouseover='window.hacked=1' x='",
    "\u202eevil\u202c <math><mtext></mtext><mglyph><style><img src=x onerror=window.hacked=1>",
]


async def failed(site: Site, text: str) -> Any:
    """A job that says *text* wherever a user or a program can say something."""
    fields = {"payload": {text: text}, "description": text, "project_id": text[:100], "key": text[:100]}
    job = await site.add(text, max_retries=0, **fields)
    attempt = await site.take()
    said = text.encode()
    await site.store.output.write([Printed(run_id=attempt.run_id, fence=attempt.fence, head=said, length=len(said))])
    await site.settle(attempt, Failed(error=text))
    return job


async def check(page: Page) -> None:
    assert await page.evaluate("window.hacked") is None
    assert await page.locator("main script, main iframe, main img, main math, main style").count() == 0


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
async def test_one_job_s_pages_show_hostile_text_as_it_is(site: Site, dashboard: Dashboard, text: str) -> None:
    job = await failed(site, text)
    page = dashboard.page
    for place, where in {
        f"/jobs/{job['id']}": "h1",
        f"/jobs/{job['id']}/edit": "h1",
        f"/executions/{job['id']}": ".verbatim.output",
    }.items():
        await dashboard.open(place)
        await expect(page.locator(where).first).to_contain_text(text[:40])
        await check(page)


async def test_lists_show_hostile_text_as_it_is(site: Site, dashboard: Dashboard) -> None:
    for text in CORPUS:
        await failed(site, text)
        await site.ask("POST", "locks/l/acquire", json={"holder": text.strip("\u202e")[:9], "ttl_ms": 1})
    page = dashboard.page
    for place, where in {
        "/": ".rows .name",
        "/jobs": "tbody .name",
        "/executions": "tbody .name",
        "/dead-letters": ".group h2",
        "/audit": "tbody code",
        "/jobs?q=%3Cscript%3E": "tbody .name",
    }.items():
        await dashboard.open(place)
        await expect(page.locator(where).filter(has_text="hacked").first).to_be_visible()
        await check(page)
