"""Everything that README.md and the pages of docs/ print as a command or as code is run, page by page."""

from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.running import Reader

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_does_what_it_prints(page: Path, tmp_path: Path) -> None:
    with Reader(page, tmp_path) as reader:
        for block in blocks(page):
            reader.follow(block)
