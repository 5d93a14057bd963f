import subprocess
import sys
from pathlib import Path

import pytest

from tests.missing import HINT

ROOT = Path(__file__).resolve().parents[2]
TRIED = """
import pytest
from servers.process import NotInstalled
from tests.missing import needing_a_program

@pytest.fixture
def server():
    with needing_a_program():
        raise NotInstalled("Such-and-such isn't installed: scripts/install.sh fetches it")

def test_good(): pass
@pytest.mark.parametrize("number", [1, 2])
def test_with_the_server(server, number): pass
@pytest.mark.skip(reason="it is Sunday")
def test_on_weekdays(): pass
"""


def tried(folder: Path, tests: str = TRIED, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_tried.py").write_text(tests)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.missing", "-p", "no:cacheprovider", "-n", "2", "test_tried.py"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_run_ends_by_saying_how_many_tests_were_skipped_for_what_and_what_runs_them(tmp_path: Path) -> None:
    ended = tried(tmp_path)
    assert ended.returncode == 0
    *_, total, first, second, hint, last = ended.stdout.splitlines()
    assert total == "3 tests were skipped:"
    assert first == "     2  Such-and-such isn't installed: scripts/install.sh fetches it"
    assert second == "     1  it is Sunday"
    assert hint == HINT
    assert "1 passed, 3 skipped" in last


def test_a_run_of_everything_says_nothing_about_skipping(tmp_path: Path) -> None:
    assert HINT not in tried(tmp_path, "def test_good(): pass").stdout


def test_a_build_machine_fails_where_a_server_is_missing(tmp_path: Path) -> None:
    ended = tried(tmp_path, CI="true")
    assert ended.returncode == 1
    assert "1 passed, 1 skipped, 2 errors" in ended.stdout.splitlines()[-1]
    assert "     1  it is Sunday" in ended.stdout
    assert HINT not in ended.stdout


@pytest.mark.parametrize("name", ["Makefile", ".ci/run", "README.md", "CONTRIBUTING.md"])
def test_whoever_runs_the_tests_is_told_how_to_run_them_all(name: str) -> None:
    command = HINT.partition(" installs")[0]
    text = (ROOT / name).read_text()
    assert (f"\n{command.removeprefix('make ')}:" if name == "Makefile" else command) in text
