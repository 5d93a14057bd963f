"""Resolve pyproject.toml into the hashed requirement files, each a superset of the one before.

Versions that are already locked stay, unless --upgrade is given. Only names, versions, markers and hashes are
written: no address of a package index, so that any index or mirror serves the same files.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
LOCKS = {
    "run": ("build",),
    "image": ("build", "image"),
    "dev": ("build", "dev"),
    "bench": ("build", "dev", "bench"),
}
TOOL_GROUP = "lock"
HEADER = "# Written by `make lock` from pyproject.toml. Don't edit.\n"


def resolve(*, source: list[str], target: Path, constraints: list[Path], upgrade: bool) -> None:
    """Write *target* with every requirement of *source* pinned, never apart from the *constraints*.

    A file that stays the same isn't touched, so that make doesn't install it again.
    """
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    with TemporaryDirectory() as folder:
        draft = Path(folder) / target.name
        draft.write_text(before, encoding="utf-8")  # uv keeps the versions that it finds there
        command = [sys.executable, "-m", "uv", "pip", "compile", *source, "--output-file", str(draft)]
        command += ["--universal", "--generate-hashes", "--quiet"]
        command += ["--no-header", "--no-annotate", "--no-emit-index-url"]
        command += [option for constraint in constraints for option in ("--constraint", str(constraint))]
        command += ["--upgrade"] if upgrade else []
        subprocess.run(command, cwd=ROOT, check=True)
        after = HEADER + draft.read_text(encoding="utf-8")
    if after != before:
        target.write_text(after, encoding="utf-8")


def main() -> None:
    """Write all lock files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    upgrade = parser.parse_args().upgrade
    folder = ROOT / "requirements"
    earlier: list[Path] = []
    for name, groups in LOCKS.items():
        target = folder / f"{name}.txt"
        chosen = [option for group in groups for option in ("--group", group)]
        resolve(source=["pyproject.toml", *chosen], target=target, constraints=earlier, upgrade=upgrade)
        earlier.append(target)
    resolve(source=["--group", TOOL_GROUP], target=folder / "lock.txt", constraints=[], upgrade=upgrade)


if __name__ == "__main__":
    main()
