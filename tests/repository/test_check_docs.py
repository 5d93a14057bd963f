from pathlib import Path

import pytest

from scripts import check_docs


def messages(root: Path) -> list[str]:
    return [complaint.message for complaint in check_docs.check_links(root)]


def test_links_to_files_folders_and_anchors_are_followed(tmp_path: Path) -> None:
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "start.md").write_text("# Start here, *now*!\n\n## Twice\n\n## Twice\n")
    (tmp_path / "README.md").write_text(
        "# Read\n[a](guide/start.md) [b](guide/) [c](guide/start.md#start-here-now) [d](#read)\n"
        "[e](guide/start.md#twice-1) [f](https://example.org/gone) <a href='guide/start.md'>g</a> [h][ref]\n\n"
        "[ref]: guide/start.md#twice\n"
    )
    assert messages(tmp_path) == []


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ("[a](gone.md)", "gone.md: no such file"),
        ("![a](gone.svg)", "gone.svg: no such file"),
        ('<img alt="a" src="gone.png">', "gone.png: no such file"),
        ("| a |\n|---|\n| [b](gone.md) |", "gone.md: no such file"),
        ("[a](#nowhere)", "#nowhere: no such anchor"),
        ("[a](other.md#nowhere)", "other.md#nowhere: no such anchor"),
        ("[a](/other.md)", "/other.md: links inside the repository are relative"),
        ("[a](../../other.md)", "../../other.md: leads out of the repository"),
    ],
)
def test_a_link_that_leads_nowhere_is_reported(tmp_path: Path, link: str, complaint: str) -> None:
    (tmp_path / "other.md").write_text("# Other\n")
    (tmp_path / "README.md").write_text(f"# Here\n\n{link}\n")
    assert messages(tmp_path) == [complaint]


def test_links_in_code_are_not_links(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("`[a](gone.md)`\n\n```markdown\n[a](gone.md)\n```\n")
    assert messages(tmp_path) == []


def test_a_complaint_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Here\n\nText.\n\n[a](gone.md)\n")
    assert [complaint.line for complaint in check_docs.check_links(tmp_path)] == [5]


@pytest.mark.parametrize("text", ["TODO: later", "see /root/notes", "built in /work/tree", "from pypi.org"])
def test_unwanted_words_are_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(f"# Page\n\n{text}\n")
    assert [complaint.line for complaint in check_docs.check_words(tmp_path)] == [3]


def test_similar_words_are_let_through(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("src/mainspring/work/ and TODOLIST and the root/ of it\n")
    assert list(check_docs.check_words(tmp_path)) == []


def test_hidden_folders_and_caches_are_not_searched(tmp_path: Path) -> None:
    for folder in (".venv", "__pycache__"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "page.md").write_text("[a](gone.md)\n")
    assert messages(tmp_path) == []


def test_the_exit_status_says_whether_anything_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("[a](gone.md)\n")
    assert check_docs.main(tmp_path) == 1
    assert "README.md:1: gone.md: no such file" in capsys.readouterr().err
    (tmp_path / "README.md").write_text("Nothing to follow.\n")
    assert check_docs.main(tmp_path) == 0
