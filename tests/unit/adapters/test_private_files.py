"""What others may do with the files and folders that Mainspring makes or finds."""

import logging
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.adapters.private_files import create_file, make_folder, narrow_file, narrow_folder

SOMEBODY_ELSE = 65_534


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def folder(path: Path, bits: int) -> Path:
    """A folder with just these bits, whatever the mask."""
    path.mkdir()
    path.chmod(bits)
    return path


def test_new_folders_and_files_are_for_their_user_alone(tmp_path: Path) -> None:
    make_folder(tmp_path / "one" / "two")
    create_file(tmp_path / "one" / "two" / "file")
    assert [mode(each) for each in (tmp_path / "one", tmp_path / "one/two", tmp_path / "one/two/file")] == [
        0o700,
        0o700,
        0o600,
    ]


def test_a_folder_that_can_not_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for obstacle in (tmp_path / "file", Path("/proc/nowhere")):
        with pytest.raises(OSError, match=str(obstacle)):
            make_folder(obstacle / "one" / "two")


def test_nothing_is_open_for_a_moment(tmp_path: Path) -> None:
    """A mask that takes nothing away would show what is created wide and narrowed afterwards."""
    program = (
        "import os, sys; from pathlib import Path; os.umask(0); os.chmod = Path.chmod = None\n"
        "from mainspring.adapters.private_files import create_file, make_folder\n"
        "make_folder(Path(sys.argv[1])); create_file(Path(sys.argv[1]) / 'file')"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "one")], check=True)
    assert (mode(tmp_path / "one"), mode(tmp_path / "one" / "file")) == (0o700, 0o600)


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    create_file(tmp_path / "file")
    make_folder(tmp_path)
    assert (tmp_path / "file").read_text() == "kept"
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")


def test_a_folder_that_a_group_shares_goes_on_being_shared(tmp_path: Path) -> None:
    os.umask(0o002)
    shared = folder(tmp_path / "shared", 0o2770)
    make_folder(shared / "journal")
    create_file(shared / "file")
    create_file(shared / "journal" / "file")
    assert mode(shared / "journal") == 0o2770
    assert mode(shared / "file") == mode(shared / "journal" / "file") == 0o660


def test_a_folder_that_all_may_write_to_shares_nothing(tmp_path: Path) -> None:
    os.umask(0)
    create_file(folder(tmp_path / "volume", 0o2777) / "file")
    assert mode(tmp_path / "volume" / "file") == 0o600


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o640), (0o664, 0o660), (0o666, 0o660), (0o600, 0o600)])
def test_a_file_loses_what_others_may_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, before: int, after: int
) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(before)
    with caplog.at_level(logging.INFO):
        narrow_file(file)
        narrow_file(file)
        narrow_file(tmp_path / "none")
    assert mode(file) == after
    said = [(record.msg, record.__dict__["path"], record.__dict__["mode"]) for record in caplog.records]
    assert said == ([("permissions.narrowed", str(file), f"{after:04o}")] if before != after else [])


@pytest.mark.parametrize(("before", "after"), [(0o755, 0o750), (0o2775, 0o2770), (0o777, 0o770)])
def test_a_folder_of_ours_alone_loses_it_too(tmp_path: Path, before: int, after: int) -> None:
    (folder(tmp_path / "data", before) / "ours").touch()
    narrow_folder(tmp_path / "data", "ours".__eq__)
    assert mode(tmp_path / "data") == after


def test_a_folder_with_things_of_others_stays_open(tmp_path: Path) -> None:
    shared = folder(tmp_path / "home", 0o755)
    (shared / "ours").touch()
    (shared / "letters").touch()
    narrow_folder(shared, "ours".__eq__)
    assert mode(shared) == 0o755


def test_a_folder_for_the_files_of_all_stays_open(tmp_path: Path) -> None:
    narrow_folder(folder(tmp_path / "tmp", 0o1777), "ours".__eq__)
    assert mode(tmp_path / "tmp") == 0o1777


def test_a_folder_of_the_system_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[object] = []
    monkeypatch.setattr(Path, "chmod", lambda *each: touched.append(each))
    for each in [each for each in Path("/").iterdir() if not each.is_symlink()]:
        narrow_folder(each, lambda _: True)
    narrow_folder(Path("/"), lambda _: True)
    assert touched == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives things away")
def test_what_belongs_to_somebody_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch(0o644)
    os.chown(file, SOMEBODY_ELSE, SOMEBODY_ELSE)
    os.chown(folder(tmp_path / "data", 0o755), SOMEBODY_ELSE, SOMEBODY_ELSE)
    narrow_file(file)
    narrow_folder(tmp_path / "data", "ours".__eq__)
    assert (mode(file), mode(tmp_path / "data")) == (0o644, 0o755)
