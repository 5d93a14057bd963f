"""Everything that README.md and the pages of docs/ print as a command or as code is run, page by page."""

from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.running import PRINTED_DATABASE, PRINTED_KEYSPACE, PRINTED_REDIS, Reader

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_does_what_it_prints(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    printed, database = store_of(page.read_text(encoding="utf-8"), request)
    with Reader(page, tmp_path, printed=printed, database=database) as reader:
        for block in blocks(page):
            reader.follow(block)


def store_of(text: str, request: pytest.FixtureRequest) -> tuple[str, str]:
    """The store, or what is beside it, that a page prints, and a real one, if the page needs any."""
    if PRINTED_KEYSPACE in text:
        # The tables are there already, so nothing needs to be said about copies.
        url: str = request.getfixturevalue("cassandra_url")
        return PRINTED_KEYSPACE, url.partition("?")[0]
    if PRINTED_REDIS in text:
        return PRINTED_REDIS, request.getfixturevalue("redis_url")
    if PRINTED_DATABASE in text:
        return PRINTED_DATABASE, request.getfixturevalue("postgres_url")
    return PRINTED_DATABASE, PRINTED_DATABASE
