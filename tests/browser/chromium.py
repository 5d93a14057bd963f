"""The system's own Chromium, driven by Playwright; nothing is downloaded."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

from tests.missing import do_without

SETTING = "MAINSPRING_TEST_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = f"no Chromium: install your system's package chromium, or name one by {SETTING}=/path/to/it"


def executable() -> str:
    """Where it is. Without one the test is skipped; where everything must be tested, it fails."""
    found = os.environ.get(SETTING) or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        do_without(MISSING)
    return found


@asynccontextmanager
async def launched(*flags: str) -> AsyncIterator[Browser]:
    """A browser. As root its sandbox can't be had; the pages that it opens are our own."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable(), args=[*sandbox, "--disable-dev-shm-usage", "--disable-gpu", *flags]
        )
        yield browser
        await browser.close()
