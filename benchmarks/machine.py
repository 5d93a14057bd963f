"""The machine that the figures were taken on; without it they mean nothing."""

import os
import platform
import sqlite3
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

PACKAGES = ("mainspring", "huey", "apscheduler", "sqlalchemy", "apsw")
SYNCS = 200


def describe(folder: Path) -> dict[str, str]:
    """Facts for the head of a report; the cost of a synchronised write is measured in *folder*."""
    return {
        "cores": str(len(os.sched_getaffinity(0))),
        "processor": _processor(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite3 module": sqlite3.sqlite_version,
        "fdatasync of 4 KiB, median": f"{sync_milliseconds(folder):.3f} ms",
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "taken at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def sync_milliseconds(folder: Path) -> float:
    path = folder / "fdatasync.probe"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        return median(_sync(descriptor) for _ in range(SYNCS))
    finally:
        os.close(descriptor)
        path.unlink()


def _sync(descriptor: int) -> float:
    started = time.perf_counter_ns()
    os.write(descriptor, bytes(4096))
    os.fdatasync(descriptor)
    return (time.perf_counter_ns() - started) / 1e6


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
