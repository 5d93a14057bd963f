"""Everything that README.md and the pages of docs/ print as a command or as code is run, page by page."""

from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.running import PRINTED_DATABASE, Reader

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_does_what_it_prints(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    needs_database = PRINTED_DATABASE in page.read_text(encoding="utf-8")
    database: str = request.getfixturevalue("postgres_url") if needs_database else PRINTED_DATABASE
    with Reader(page, tmp_path, database=database) as reader:
        for block in blocks(page):
            reader.follow(block)
