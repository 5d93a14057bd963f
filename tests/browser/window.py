"""A window on the dashboard that notices what a reader wouldn't: errors, refused scripts, requests to other hosts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Page, Request

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
PATIENCE_MS = 15_000


class Dashboard:
    """A page of the dashboard."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.expected: list[str] = []
        """Parts of messages that this test provokes."""
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._heard)
        page.on("request", self._asked)

    async def open(self, place: str = "/") -> Page:
        """Go to a place, as in the address after the #."""
        await self.page.goto(f"{self.url}/dashboard/#{place}")
        return self.page

    async def look(self) -> None:
        """Ask for the figures now, as the page does every few seconds."""
        await self.page.evaluate("async () => (await import('/dashboard/live.js')).readFigures()")

    async def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        width = await self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return int(width)

    def check(self) -> None:
        unexpected = [error for error in self.errors if not any(part in error for part in self.expected)]
        assert unexpected == [], unexpected
        assert self.foreign == [], self.foreign

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.url).netloc:
            self.foreign.append(request.url)


@asynccontextmanager
async def window(browser: Browser, url: str, **options: Any) -> AsyncIterator[Dashboard]:
    """A window with storage of its own; what went wrong in it fails the test."""
    context = await browser.new_context(**{"viewport": WIDE, "timezone_id": "UTC", **options})
    context.set_default_timeout(PATIENCE_MS)
    dashboard = Dashboard(await context.new_page(), url)
    try:
        yield dashboard
        dashboard.check()
    finally:
        await context.close()
