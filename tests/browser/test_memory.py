"""However long the dashboard stays open, and whether anybody looks or not, it keeps no more than it shows."""

import json
from collections.abc import Mapping
from typing import Any

from playwright.async_api import CDPSession, Page, expect

from tests.browser.window import Dashboard

EVENTS = 4500
TAKEN_TOGETHER = 900
# Far less than one object for each event, and more than the events of one batch: a page that still asks for what it
# shows has them in its hands until the answer comes.
SPARE = 2 * TAKEN_TOGETHER
HOURS = 48
STREAMED = """
const real = globalThis.fetch;
globalThis.fetch = (address, options) => {
    if (!String(address).endsWith('/api/v1/events')) return real(address, options);
    const body = new ReadableStream({ start: (stream) => { globalThis.events = stream; } });
    return Promise.resolve(new Response(body));
};
Object.defineProperty(document, 'hidden', { get: () => globalThis.away === true });
"""
TAKEN = """
async (blocks) => {
    const { onChanges } = await import('/dashboard/live.js');
    const told = new Promise((tell) => { const stop = onChanges(() => { stop(); tell(); }); });
    globalThis.events.enqueue(new TextEncoder().encode(blocks));
    if (!document.hidden) await told;
}
"""
SEEN = """
async (hours) => {
    const { Totals } = await import('/dashboard/totals.js');
    const { RANGES } = await import('/dashboard/ranges.js');
    const { counted } = await import('/dashboard/throughput.js');
    const totals = new Totals();
    const kept = [];
    for (let hour = 0; hour < hours; hour += 1) {
        for (let at = hour * 3600e3; at < (hour + 1) * 3600e3; at += 3000) {
            totals.add({ at, completed: at, failed: 0, other: 0 });
        }
        kept.push(RANGES.map(({ step }) => totals.of(step).length));
    }
    const end = hours * 3600e3;
    const charts = RANGES.map(({ step, steps }) => {
        const none = { COMPLETED: 0, FAILED: 0, CANCELLED: 0, SKIPPED: 0 };
        const begins = Array.from({ length: steps }, (_, index) => end - (steps - index) * step);
        const items = begins.map((at) => ({ at: new Date(at).toISOString(), by_status: none }));
        const timeline = { items, step_ms: step, complete: false, since: new Date(end).toISOString() };
        return counted(timeline, totals).completed.map((value) => value / step);
    });
    return { kept, charts };
}
"""


async def test_what_events_told_is_forgotten_whether_somebody_looks_or_not(dashboard: Dashboard) -> None:
    page = dashboard.page
    await page.add_init_script(STREAMED)
    await dashboard.open()
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    below = await page.context.new_cdp_session(page)
    for away in (False, True):
        await page.evaluate("away => { globalThis.away = away; }", away)
        kept = []
        for beginning in (0, EVENTS):
            await pour(page, beginning)
            kept.append(await living(below))
        assert kept[1] - kept[0] < SPARE, f"{kept} objects, away: {away}"


async def test_totals_that_were_seen_are_as_many_as_the_charts_need(dashboard: Dashboard) -> None:
    page = await dashboard.open()
    seen = await page.evaluate(SEEN, HOURS)
    assert seen["kept"][-1] == seen["kept"][-2]
    assert max(seen["kept"][-1]) < 200
    assert [set(chart) for chart in seen["charts"]] == [{1}, {1}, {1}], "as many ended in each step as its milliseconds"


async def pour(page: Page, beginning: int) -> None:
    """As many events again, each of another job."""
    for first in range(beginning, beginning + EVENTS, TAKEN_TOGETHER):
        await page.evaluate(TAKEN, "".join(map(block, range(first, first + TAKEN_TOGETHER))))


def block(number: int) -> str:
    told: Mapping[str, Any] = {
        "id": f"run-{number}",
        "job_id": f"job-{number}",
        "name": f"order {number}",
        "handler": "test.echo",
        "status": "COMPLETED",
    }
    return f"event: run\nid: {number}\ndata: {json.dumps(told)}\n\n"


async def living(below: CDPSession) -> int:
    """How many objects there are, once everything that may be forgotten was."""
    prototype = await below.send("Runtime.evaluate", {"expression": "Object.prototype"})
    asked = {"prototypeObjectId": prototype["result"]["objectId"], "objectGroup": "living"}
    found = await below.send("Runtime.queryObjects", asked)
    own = {"objectId": found["objects"]["objectId"], "functionDeclaration": "function () { return this.length; }"}
    counted = await below.send("Runtime.callFunctionOn", {**own, "returnByValue": True})
    await below.send("Runtime.releaseObjectGroup", {"objectGroup": "living"})
    return int(counted["result"]["value"])
