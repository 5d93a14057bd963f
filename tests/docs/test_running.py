import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import Block
from tests.docs.running import BlockFailed, Reader


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with Reader(tmp_path / "page.md", tmp_path) as reader:
        yield reader


def python(source: str) -> Block:
    return Block(language="python", source=source, line=7)


def console(source: str) -> Block:
    return Block(language="console", source=source, line=7)


def test_python_blocks_of_a_page_share_their_names(reader: Reader) -> None:
    reader.follow(python("answer = 42\n"))
    reader.follow(python("assert answer == 42\n"))


def test_a_python_block_that_raises_fails_with_its_place_on_the_page(reader: Reader) -> None:
    with pytest.raises(BlockFailed, match=r'page\.md", line 8.*\n.*\n*ZeroDivisionError'):
        reader.follow(python("print('before')\n1 / 0\n"))


@pytest.mark.parametrize("ending", ["raise SystemExit", "import os; os._exit(0)"])
def test_a_page_that_ends_python_early_fails(reader: Reader, ending: str) -> None:
    with pytest.raises(BlockFailed):
        reader.follow(python(ending))


def test_what_python_prints_is_shown_when_it_fails(reader: Reader) -> None:
    with pytest.raises(BlockFailed, match="on the way"):
        reader.follow(python("print('on the way')\nassert False\n"))


def test_console_and_python_share_the_folder_in_the_order_of_the_page(reader: Reader) -> None:
    reader.follow(console("$ echo from bash > note\n"))
    reader.follow(python("from pathlib import Path\nassert Path('note').read_text() == 'from bash\\n'\n"))
    reader.follow(python("Path('note').write_text('from python')\n"))
    reader.follow(console("$ cat note\nfrom python\n"))


def test_a_file_is_saved_and_not_run(reader: Reader) -> None:
    reader.follow(Block(language="python", source="port = 8080\n1 / 0\n", line=7, file="module.py"))
    assert (reader.folder / "module.py").read_text() == f"port = {reader.port}\n1 / 0\n"


@pytest.mark.parametrize("script", ["$ false\n$ true\n", "$ false | cat\n", "$ no-such-command\n"])
def test_a_console_block_with_a_failing_command_fails(reader: Reader, script: str) -> None:
    with pytest.raises(BlockFailed, match="bash ended with status"):
        reader.follow(console(script))


def test_a_console_block_that_waits_in_vain_fails_and_shows_the_logs(tmp_path: Path) -> None:
    with Reader(tmp_path / "page.md", tmp_path, patience=0.5) as reader:
        (reader.folder / "server.log").write_text("the server died of something")
        with pytest.raises(BlockFailed, match=r"still not done(.|\n)*server\.log ends with:\nthe server died"):
            reader.follow(console("$ sleep 1000\n"))


def test_a_console_block_that_prints_something_else_fails(reader: Reader) -> None:
    reader.follow(console("$ echo one two\none ...\n"))
    with pytest.raises(BlockFailed, match="printed instead:\none two"):
        reader.follow(console("$ echo one two\none three\n"))


def test_output_that_the_page_does_not_show_is_not_compared(reader: Reader) -> None:
    reader.follow(console("$ echo anything\n"))


def test_the_programs_of_the_environment_are_found(reader: Reader) -> None:
    reader.follow(console("$ python -c 'import mainspring'\n"))


def test_the_printed_port_stands_for_a_free_one(reader: Reader) -> None:
    reader.follow(console("$ echo port 8080 | tee port\nport 8080\n"))
    assert (reader.folder / "port").read_text() == f"port {reader.port}\n"
    reader.follow(python(f"assert '8080' == '{reader.port}'\n"))


def test_what_runs_in_the_background_lives_until_the_page_ends(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with os.fdopen(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb") as lifeline:
        with Reader(tmp_path / "page.md", tmp_path) as reader:
            reader.follow(console(f"$ exec 3>{fifo}\n$ sleep 1000 & echo $! >pid\n"))
            reader.follow(console("$ kill -0 $(cat pid)\n"))
        os.set_blocking(lifeline.fileno(), True)
        assert lifeline.read() == b"", "the end of the page closes what the background process held open"
