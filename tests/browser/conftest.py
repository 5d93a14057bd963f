"""One browser for each worker of the suite, and for each test a server, a store and a window of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import launched
from tests.browser.site import Site, site
from tests.browser.window import Dashboard, window

HERE = Path(__file__).parent

# A machine that is busy with other tests may be slow; what never comes fails all the same.
expect.set_options(timeout=15_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser belongs to the loop that started it: all tests here share that loop."""
    for item in items:
        if HERE in item.path.parents and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with launched() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session", name="site")
async def serving(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as served:
        yield served


@pytest_asyncio.fixture(loop_scope="session")
async def dashboard(browser: Browser, site: Site) -> AsyncIterator[Dashboard]:
    async with window(browser, site.url) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def page(dashboard: Dashboard) -> Page:
    return dashboard.page
