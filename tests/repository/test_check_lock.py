import re

import pytest
from packaging.requirements import Requirement

from scripts.check_lock import complaints, disagreements, main, parse_lock
from scripts.lock import ROOT

HASH = "--hash=sha256:" + "0" * 64
LOCK = f"# header\nsmall==1.2 \\\n    {HASH} \\\n    {HASH}\nwide_name==3.0 ; sys_platform != 'win32' \\\n    {HASH}\n"


def complaints_about(lock: str, *wanted: str) -> list[str]:
    return list(complaints(map(Requirement, wanted), parse_lock(lock)))


def test_the_lock_files_are_in_step_with_the_project() -> None:
    assert main() == 0


def test_a_lock_that_answers_every_requirement_passes() -> None:
    assert complaints_about(LOCK, "small>=1.0", "Wide-Name[extra]>=2; sys_platform != 'win32'") == []


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [("absent", "absent is missing"), ("small>=2", "small>=2 is locked to 1.2")],
)
def test_a_requirement_without_its_answer_is_reported(wanted: str, complaint: str) -> None:
    assert complaints_about(LOCK, wanted) == [complaint]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("small==1.2", "small==1.2 needs sha256 hashes and nothing else"),
        (f"small==1.2 {HASH} --pre", "small==1.2 needs sha256 hashes and nothing else"),
        (f"small>=1.2 {HASH}", "small>=1.2 is not pinned to one version"),
        (f"small==1.* {HASH}", "small==1.* is not pinned to one version"),
    ],
)
def test_a_line_that_is_no_hashed_pin_is_reported(line: str, complaint: str) -> None:
    assert complaints_about(line) == [complaint]


def test_lock_files_must_agree_on_versions() -> None:
    smaller, larger = parse_lock(f"small==1.2 {HASH}"), parse_lock(f"small==1.3 {HASH}")
    assert list(disagreements(smaller, smaller)) == []
    assert list(disagreements(smaller, larger)) == ["small==1.2 is not there in the same version"]


def test_pip_installs_lock_files_as_they_are() -> None:
    """Its resolver would look beyond them where a package asks for another's extra, and refuse what it finds there."""
    for file in ("Makefile", "deploy/Dockerfile"):
        (install,) = re.findall(r"^.*--require-hashes.*$", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert "--no-deps" in install
