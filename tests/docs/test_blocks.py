from pathlib import Path

import pytest

from tests.docs.blocks import Block, UnclearBlock, blocks, console, matches


def page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text)
    return path


def test_python_and_console_blocks_are_found_in_order_with_their_lines(tmp_path: Path) -> None:
    text = "# Title\n\n```python\na = 1\n```\n\n1. In a list:\n\n   ```console\n   $ true\n   ```\n\n```json\n{}\n```\n"
    found = list(blocks(page(tmp_path, text)))
    assert found == [
        Block(language="python", source="a = 1\n", line=4),
        Block(language="console", source="$ true\n", line=10),
    ]


def test_a_block_with_a_reason_is_passed_over_and_only_that_one(tmp_path: Path) -> None:
    text = "<!-- not-executed: it never ends -->\n```console\n$ sleep inf\n```\n\n```console\n$ true\n```\n"
    assert [block.source for block in blocks(page(tmp_path, text))] == ["$ true\n"]


@pytest.mark.parametrize("excuse", ["<!-- not-executed: -->", "<!--not-executed:-->"])
def test_an_excuse_without_a_reason_is_refused(tmp_path: Path, excuse: str) -> None:
    with pytest.raises(UnclearBlock, match=r"page\.md:2: .* needs a reason"):
        list(blocks(page(tmp_path, f"{excuse}\n```console\n$ true\n```\n")))


@pytest.mark.parametrize("label", ["bash", "sh", "shell", "pycon", "py"])
def test_a_command_cannot_escape_by_another_label(tmp_path: Path, label: str) -> None:
    with pytest.raises(UnclearBlock, match=f"not as `{label}`"):
        list(blocks(page(tmp_path, f"```{label}\nfalse\n```\n")))


def test_a_block_may_be_a_file_to_save(tmp_path: Path) -> None:
    for name in ("greetings.py", "folder/greetings.py"):
        [block] = blocks(page(tmp_path, f"```python file={name}\na = 1\n```\n"))
        assert block.file == name


@pytest.mark.parametrize(
    "attributes", ["title=a.py", "file=../a.py", "file=a/../../b.py", "file=/a.py", "file=", "file=a.py file=b.py"]
)
def test_another_attribute_or_another_folder_is_refused(tmp_path: Path, attributes: str) -> None:
    with pytest.raises(UnclearBlock, match="nothing but"):
        list(blocks(page(tmp_path, f"```python {attributes}\na = 1\n```\n")))


def console_of(source: str) -> tuple[str, str]:
    parts = console(Block(language="console", source=source, line=1))
    return parts.script, parts.expected


def test_commands_and_their_output_are_told_apart() -> None:
    assert console_of("$ echo a\na\n$ echo b\nb\n") == ("echo a\necho b\n", "a\nb")


def test_a_command_may_go_on_over_several_lines() -> None:
    assert console_of("$ echo a \\\n  b\na b\n") == ("echo a \\\n  b\n", "a b")
    assert console_of("$ cat <<END\n> one\n>\n> END\none\n") == ("cat <<END\none\n\nEND\n", "one")


def test_a_console_block_without_a_command_is_refused() -> None:
    with pytest.raises(UnclearBlock, match="begins with a command"):
        console_of("make run\n")


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("a", "a\n"),
        ("a  \nb", "a\nb  \n"),
        ("id ... made", "id 42 made\n"),
        ("first\n...\nlast", "first\n1\n2\nlast\n"),
        ("first\n...", "first\n"),
        ("a.b (c)", "a.b (c)\n"),
    ],
)
def test_output_matches(expected: str, printed: str) -> None:
    assert matches(expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("a", "b\n"),
        ("a", "a\nb\n"),
        ("a\nb", "a\n"),
        ("a", ""),
        ("id ... made", "id 4\n2 made\n"),
        ("a.b", "axb\n"),
    ],
)
def test_output_does_not_match(expected: str, printed: str) -> None:
    assert not matches(expected, printed)
