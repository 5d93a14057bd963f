"""Peers that run on Node: their packages, exactly as locked, in the user's cache and never in the tree."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
MANIFESTS = ("package.json", "package-lock.json")
INSTALL_SECONDS = 300.0


def modules() -> Path:
    """The folder in which `node_modules` is, or will be: one for each content of the lock file."""
    lock = (FOLDER / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "mainspring-benchmarks" / hashlib.sha256(lock).hexdigest()[:16]


def install() -> str:
    """Install the packages unless they are there; why that can't be done, empty if it can."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return "it needs Node, with node and npm on the PATH"
    folder = modules()
    complete = folder / "complete"
    if complete.exists():
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    for name in MANIFESTS:
        shutil.copy(FOLDER / name, folder / name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=INSTALL_SECONDS)  # noqa: S603 - npm
    except subprocess.CalledProcessError as error:
        return f"npm ci failed: {error.stderr.decode(errors='replace').strip()[-500:]}"
    except subprocess.TimeoutExpired:
        return f"npm ci took more than {INSTALL_SECONDS:.0f} s"
    complete.touch()
    return ""
