"""Who may read what real processes keep on disk."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import typed
from tests.scenarios.serve.processes import Place, Running, embedded, mainspring


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """The bits of everything in a folder and below, by its path; names that differ each time by their suffix."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        name = re.sub(r"^.*(?=[.]sock$)|(?<=@).*(?=[.]journal$)", "*", path.name)
        found[str(path.with_name(name).relative_to(folder))] = f"{stat.S_IMODE(path.lstat().st_mode):04o}"
    return found


async def serving(running: Running) -> None:
    await running.line("session.opened", logger="mainspring.worker")


EVERYTHING = {
    ".": "0700",
    "mainspring.db": "0600",
    "mainspring.db-wal": "0600",
    "mainspring.db-shm": "0600",
    "journal": "0700",
    "journal/w@*.journal": "0600",
    "journal/w.lock": "0600",
    "signals": "0700",
    "signals/*.sock": "0600",
}


async def test_others_may_not_read_what_a_process_keeps(tmp_path: Path) -> None:
    async with mainspring(embedded(tmp_path), "serve", "--port", "0", "--worker-name", "w") as running:
        await serving(running)
        assert modes(tmp_path / "data") == EVERYTHING


async def test_what_others_could_read_until_now_is_closed_to_them_and_the_group_keeps_it(tmp_path: Path) -> None:
    typed(tmp_path, "migrate")
    data = tmp_path / "data"
    for name, bits in ((".", 0o755), ("journal", 0o755), ("signals", 0o755), ("mainspring.db", 0o644)):
        if not (data / name).exists():
            (data / name).mkdir()
        (data / name).chmod(bits)
    async with mainspring(embedded(tmp_path), "serve", "--port", "0", "--worker-name", "w") as running:
        await serving(running)
        for name, narrowed in ((".", "0750"), ("journal", "0750"), ("signals", "0750"), ("mainspring.db", "0640")):
            await running.line("permissions.narrowed", path=str((data / name).absolute()), mode=narrowed, level="info")
        # The log and its index are made as open as the file is.
        of_the_group = {"mainspring.db": "0640", "mainspring.db-wal": "0640", "mainspring.db-shm": "0640"}
        folders = {".": "0750", "journal": "0750", "signals": "0750"}
        assert modes(data) == {**EVERYTHING, **of_the_group, **folders}


async def test_a_folder_that_was_there_for_others_stays_as_it_was(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "of others").touch()
    place = Place(tmp_path, f"sqlite:///{shared}/x.db")
    async with mainspring(place, "serve", "--port", "0", "--worker-name", "w", data=shared) as running:
        await serving(running)
        found = modes(shared)
        assert (found["."], found["of others"]) == ("0777", "0644")
        assert (found["x.db"], found["x.db-wal"], found["journal"], found["signals"]) == (
            "0600",
            "0600",
            "0700",
            "0700",
        )


def test_a_command_prints_nothing_of_it(tmp_path: Path) -> None:
    typed(tmp_path, "migrate")
    (tmp_path / "data" / "mainspring.db").chmod(0o644)
    said = typed(tmp_path, "job", "list", "--data", "data", "--json")
    assert (said.stdout, said.stderr) == ("", "")
    assert modes(tmp_path / "data")["mainspring.db"] == "0640"
