"""Nothing that Mainspring writes can be read by another user of the machine, whatever the umask is."""

import stat
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.attack.conftest import Did
from tests.attack.target import Target, attacked, under
from tests.scenarios.serve.processes import PLAIN, Place, embedded, mainspring

OTHERS = stat.S_IRWXG | stat.S_IRWXO
AFTER = (("migrate",), ("key", "create"), ("audit", "verify"), ("seed",))
"""Commands that write into the data folder, too."""


async def used(target: Target) -> None:
    """Leave behind whatever a server leaves in its folder: jobs, output, a journal, keys, locks, streams."""
    script = {"script": "umask; seq 20000; echo done"}
    for job in ({"handler": "shell.script", "payload": script}, {"handler": "test.echo", "payload": "x" * 500_000}):
        assert (await target.ended(await target.submitted(**job)))["status"] == "COMPLETED"
    await target.submitted(handler="test.echo", schedule="@every 1s")
    await target.post("/api/v1/locks/printer/acquire", {"holder": "h", "ttl_ms": 60_000})
    async with aiohttp.ClientSession() as client, client.get(f"{target.url}/api/v1/events") as stream:
        assert await stream.content.readline()


def opened(folder: Path, bits: int = OTHERS) -> Iterator[str]:
    for path in (folder, *folder.rglob("*")):
        mode = path.lstat().st_mode
        behind_a_door = stat.S_ISSOCK(mode) and not path.parent.stat().st_mode & OTHERS
        if mode & bits and not stat.S_ISLNK(mode) and not behind_a_door:
            yield f"{path.relative_to(folder.parent)} {stat.filemode(mode)}"


@pytest.mark.parametrize("umask", [0o022, 0], ids=oct)
async def test_nothing_in_the_data_folder_is_open_to_others(tmp_path: Path, umask: int, did: Did) -> None:
    place, program = embedded(tmp_path), under(umask=umask)
    found: set[str] = set()
    async with attacked(place, program=program) as target:
        await used(target)
        found.update(opened(tmp_path / "data"))
        target.running.process.kill()  # what a clean end would remove stays
    found.update(opened(tmp_path / "data"))
    for command in AFTER:
        async with mainspring(place, *command, program=program) as running:
            await running.ended()
    found.update(opened(tmp_path / "data"))
    assert not found, sorted(found)
    did(files=len([*(tmp_path / "data").rglob("*")]))


async def test_a_store_elsewhere_is_closed_to_others_and_its_folder_left_as_it_was(tmp_path: Path) -> None:
    """The folder may be /tmp, where everybody's files are."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    async with attacked(Place(tmp_path, f"sqlite:///{shared / 'jobs.db'}"), program=under(umask=0o022)) as target:
        await used(target)
        open_files = [line for line in opened(shared) if not line.startswith("shared ")]
    assert not open_files
    assert stat.S_IMODE(shared.stat().st_mode) == 0o777


async def test_a_folder_that_was_open_loses_what_others_may(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with attacked(embedded(tmp_path), program=PLAIN) as target:
        await used(target)
    for path in (data, *data.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    async with attacked(embedded(tmp_path), program=PLAIN) as target:
        await used(target)
        open_files = [*opened(data, stat.S_IRWXO)]
    assert not open_files
    assert stat.S_IMODE(data.stat().st_mode) == 0o770, "a folder that is shared with a group is shared on purpose"
