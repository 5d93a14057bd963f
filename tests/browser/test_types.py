"""The modules fit together as their comments say. The compiler is pinned, and kept outside of the repository."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.missing import do_without

HERE = Path(__file__).parent / "types"
MISSING = "no npm: install your system's package nodejs and npm"


def npm() -> str:
    """Where it is. Without it the test is skipped; where everything must be tested, it fails."""
    found = shutil.which("npm")
    if found is None:
        do_without(MISSING)
    return found


def compiler(npm: str, workshop: Path) -> Path:
    """The pinned compiler, made once for each version of its lock: whole or not at all, whoever else makes one too."""
    lock = (HERE / "package-lock.json").read_bytes()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mainspring"
    folder = caches / f"typescript-{hashlib.sha256(lock).hexdigest()[:16]}"
    if not folder.exists():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, workshop)
        subprocess.run([npm, "ci", "--silent", "--ignore-scripts"], cwd=workshop, check=True, timeout=240)
        caches.mkdir(parents=True, exist_ok=True)
        shutil.copytree(workshop, made := Path(tempfile.mkdtemp(dir=caches)), symlinks=True, dirs_exist_ok=True)
        with contextlib.suppress(OSError):
            made.rename(folder)
    return folder / "node_modules" / ".bin" / "tsc"


@pytest.mark.slow
def test_the_modules_are_typed(tmp_path: Path) -> None:
    checked = subprocess.run(
        [compiler(npm(), tmp_path), "--project", HERE / "tsconfig.json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert checked.stdout == ""
    assert checked.returncode == 0
