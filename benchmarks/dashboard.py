"""What the dashboard costs a browser: its first paint, its bytes, the processor time of its tab, and whether it leaks.

Run `python -m benchmarks.dashboard`, or with `--minutes 10` for a shorter look at memory. A real server executes jobs
at a steady rate while a real Chromium shows a page. The goals: less than 5 % of one core for the tab while 100 events
come per second, and a heap that doesn't grow. Processor time is the tab's own process's, as the system counts it: on a
machine that does something else besides, that tells more than any duration.

The heap also holds the machine code that the browser makes of functions that are called often: more and more of them
for a quarter of an hour. With `--interpreted` it makes none, and what grows is the dashboard's own.
"""

import argparse
import asyncio
import itertools
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Browser, CDPSession, Page, ViewportSize

from benchmarks.http_submit import JOBS, Connection, Served, job, serving
from tests.browser.chromium import launched

WINDOW = ViewportSize(width=1280, height=900)
FED_EVERY = 0.1
OPENED = 5
WARM_SECONDS = 10
SHOWN_EVERY = 10
INTERPRETED = "--js-flags=--jitless"
LOOKED_AT_SECONDS = 60
PAINTED = """
() => new Promise((resolve) => {
    const told = (list) => list.getEntriesByName('first-contentful-paint').forEach((entry) => resolve(entry.startTime));
    new PerformanceObserver(told).observe({ type: 'paint', buffered: true });
})
"""
LOADED = """
[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter((entry) => new URL(entry.name).pathname.startsWith('/dashboard/'))
    .map((entry) => entry.encodedBodySize)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What it took to open the dashboard for the first time."""

    paint_milliseconds: float
    files: int
    compressed_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heap:
    """What the tab keeps once everything that may be forgotten was."""

    minute: float
    script_bytes: int
    nodes: int
    listeners: int


class Tab:
    """A page of the dashboard, seen from below."""

    def __init__(self, browser: CDPSession, page: CDPSession) -> None:
        self._browser = browser
        self._page = page
        self._opened_at = time.monotonic()

    @classmethod
    async def of(cls, browser: Browser, page: Page) -> "Tab":
        below = await page.context.new_cdp_session(page)
        await below.send("Performance.enable")
        return cls(await browser.new_browser_cdp_session(), below)

    async def processor_time(self) -> float:
        """Seconds that the browser's tabs have used; there is only one."""
        processes = (await self._browser.send("SystemInfo.getProcessInfo"))["processInfo"]
        return sum(float(process["cpuTime"]) for process in processes if process["type"] == "renderer")

    async def heap(self) -> Heap:
        # What is only weakly held goes with the second collection.
        for _ in range(2):
            await self._page.send("HeapProfiler.collectGarbage")
        metrics = {each["name"]: each["value"] for each in (await self._page.send("Performance.getMetrics"))["metrics"]}
        return Heap(
            minute=(time.monotonic() - self._opened_at) / 60,
            script_bytes=int(metrics["JSHeapUsedSize"]),
            nodes=int(metrics["Nodes"]),
            listeners=int(metrics["JSEventListeners"]),
        )


async def opened(browser: Browser, url: str) -> Opened:
    """By a browser that was never there before."""
    context = await browser.new_context(viewport=WINDOW)
    page = await context.new_page()
    await page.goto(url, wait_until="load")
    paint, sizes = await page.evaluate(PAINTED), await page.evaluate(LOADED)
    await context.close()
    return Opened(paint_milliseconds=paint, files=len(sizes), compressed_bytes=sum(sizes))


async def feed(connection: Connection, jobs_per_second: float) -> None:
    """Add jobs, evenly, until cancelled. Each is executed at once, and so one event tells of it: how it ended."""
    numbers = itertools.count()
    due = time.monotonic()
    for round_ in itertools.count(1):
        amount = int(jobs_per_second * FED_EVERY * round_) - int(jobs_per_second * FED_EVERY * (round_ - 1))
        if amount:
            part = {
                "jobs": [{**job(number), "name": f"order {number}"} for number in itertools.islice(numbers, amount)]
            }
            await connection.ask("POST", f"{JOBS}/batch", json.dumps(part).encode())
        due += FED_EVERY
        await asyncio.sleep(due - time.monotonic())


class Listener:
    """Counts the events that the dashboard is told as well."""

    def __init__(self) -> None:
        self.heard = 0

    async def listen(self, served: Served) -> None:
        connection = await served.connect()
        connection.writer.write(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while line := await connection.reader.readline():
            self.heard += line.startswith(b"event:")


async def share(tab: Tab, seconds: float) -> float:
    """Per cent of one core."""
    used, started = await tab.processor_time(), time.monotonic()
    await asyncio.sleep(seconds)
    return (await tab.processor_time() - used) / (time.monotonic() - started) * 100


async def kept(tab: Tab, minutes: float, looks: int) -> list[Heap]:
    """The heap now and then, the last time after *minutes*."""
    heaps = [await tab.heap()]
    for _ in range(looks):
        await asyncio.sleep(minutes * 60 / looks)
        heaps.append(await tab.heap())
    return heaps


def growth(heaps: Sequence[Heap]) -> float:
    """Bytes per minute, by the straight line that lies nearest to all."""
    middle = sum(heap.minute for heap in heaps) / len(heaps)
    spread = sum((heap.minute - middle) ** 2 for heap in heaps)
    return sum((heap.minute - middle) * heap.script_bytes for heap in heaps) / spread


def lines(place: str, times: Sequence[Opened], rate: float, used: float, heaps: Sequence[Heap]) -> Iterable[str]:
    """The table."""
    paints = [each.paint_milliseconds for each in times]
    yield "| figure | value |"
    yield "|---|---|"
    yield f"| first contentful paint, median of {len(times)} | {median(paints):.0f} ms |"
    yield f"| own files, compressed | {times[0].compressed_bytes / 1024:.0f} KiB in {times[0].files} files |"
    yield f"| events per second | {rate:.0f} |"
    yield f"| tab on `{place}`, of one core over {LOOKED_AT_SECONDS} s | {used:.1f} % |"
    for heap in heaps[::SHOWN_EVERY]:
        size = f"{heap.script_bytes / 2**20:.2f} MiB, {heap.nodes:,} nodes, {heap.listeners:,} listeners"
        yield f"| heap after {heap.minute:.0f} min | {size} |"
    half = heaps[len(heaps) // 2 :]
    length = half[-1].minute - half[0].minute
    yield f"| heap's growth in the last {length:.0f} min | {growth(half) / 1024:+.2f} KiB per minute |"


async def measured(served: Served, browser: Browser, asked: argparse.Namespace) -> None:
    url = f"{served.url}/dashboard/"
    times = [await opened(browser, url) for _ in range(OPENED)]
    listener = Listener()
    async with asyncio.TaskGroup() as tasks:
        beside = [
            tasks.create_task(feed(await served.connect(), asked.events)),
            tasks.create_task(listener.listen(served)),
        ]
        context = await browser.new_context(viewport=WINDOW)
        page = await context.new_page()
        await page.goto(f"{url}#{asked.place}")
        tab = await Tab.of(browser, page)
        await asyncio.sleep(WARM_SECONDS)
        before, started = listener.heard, time.monotonic()
        used = await share(tab, LOOKED_AT_SECONDS)
        rate = (listener.heard - before) / (time.monotonic() - started)
        heaps = await kept(tab, asked.minutes, asked.looks)
        for each in beside:
            each.cancel()
    print("\n".join(lines(asked.place, times, rate, used, heaps)))


def arguments() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long to watch the heap")
    parser.add_argument("--looks", type=int, default=60, help="how often to look at the heap meanwhile")
    parser.add_argument("--interpreted", action="store_true", help="let the browser compile nothing")
    parser.add_argument("--events", type=float, default=100, help="per second")
    parser.add_argument("--place", default="/", help="what to show, as in the address after the #")
    return parser.parse_args()


async def main() -> None:
    asked = arguments()
    with TemporaryDirectory() as folder:
        flags = [INTERPRETED] if asked.interpreted else []
        async with serving(Path(folder)) as served, launched(*flags) as browser:
            await measured(served, browser, asked)


if __name__ == "__main__":
    asyncio.run(main())
