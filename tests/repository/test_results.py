import subprocess
import sys
from pathlib import Path

from tests.results import Result, page

ROOT = Path(__file__).resolve().parents[2]
TRIED = """
import pytest

def test_good(record_property): record_property("did", "3 kills")
def test_bad(): assert False
@pytest.mark.skip
def test_left_out(): pass
@pytest.fixture
def broken(): raise ValueError
def test_never_begun(broken): pass
"""


def result(name: str, verdict: str = "passed", seconds: float = 1.0) -> Result:
    return Result(name=name, verdict=verdict, seconds=seconds)


def test_folders_are_counted_and_failures_listed() -> None:
    written = page([result("a/test_x.py::test_1"), result("a/test_x.py::test_2[|`\n]", "failed", 2.25)], "somewhere")
    assert written.startswith("# Test results\n\n1 passed, 1 failed, 0 skipped; somewhere.")
    assert "| a | 2 | 1 | 1 | 0 | 3.2 |" in written
    assert "| `a/test_x.py::test_2[\\|'\\n]` | failed | 2.2 |" in written


def test_what_an_attack_did_is_shown_in_numbers() -> None:
    attack = Result(name="tests/attack/test_x.py::test_1", verdict="passed", seconds=1.0, did="12 kills")
    assert "| `tests/attack/test_x.py::test_1` | passed | 12 kills |" in page([attack], "somewhere")


def test_the_suite_that_a_document_names_is_shown_test_by_test() -> None:
    written = page([result("tests/integration/test_submissions.py::TestLoad::test_all")], "somewhere")
    assert "TestLoad" in written
    assert "What failed" not in written


def test_a_run_writes_what_became_of_every_test(tmp_path: Path) -> None:
    (tmp_path / "test_tried.py").write_text(TRIED)
    options = ("-p", "tests.results", "--results", "results.md", "-p", "no:cacheprovider", "-n", "1")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_tried.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout
    written = (tmp_path / "results.md").read_text()
    assert written.startswith("# Test results\n\n1 passed, 2 failed, 1 skipped; ")
    assert "| `test_tried.py::test_good` | passed | 3 kills |" in written
    assert b"test_tried.py::test_good: 3 kills" in ended.stdout
