"""Which store a process with `--app` works on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import PROGRAM, Command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where applications can be imported from: each name is another module, as imports are remembered."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def application(folder: Path, module: str, url: str | None) -> str:
    """What `--app` takes for an application on *url*."""
    (folder / f"{module}.py").write_text(f"from mainspring import App\n\napp = App({url!r})\n")
    return f"{module}:app"


def store(command: Command, *arguments: str) -> tuple[str, str]:
    """The store that a process with these flags would work on, and why."""
    rows = {row["variable"]: row for row in command("config", "show", "--json", *arguments).lines()}
    return rows["MAINSPRING_STORE"]["value"], rows["MAINSPRING_STORE"]["origin"]


def test_the_application_names_the_store(command: Command, folder: Path) -> None:
    app = application(folder, "names_one", "postgresql://me:hunter2@db/x")
    assert store(command, "--app", app) == ("postgresql://me:***@db/x", f"--app {app}")


def test_a_flag_or_a_variable_wins(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = application(folder, "is_overruled", "postgresql://db/x")
    assert store(command, "--app", app, "--store", "sqlite:///mine.db") == ("sqlite:///mine.db", "--store")
    monkeypatch.setenv("DATABASE_URL", "postgresql://db/y")
    assert store(command, "--app", app) == ("postgresql://db/y", "DATABASE_URL")


def test_an_application_without_a_store_changes_nothing(command: Command, folder: Path) -> None:
    submits, names_none = (
        application(folder, "submits", "http://127.0.0.1:8080"),
        application(folder, "names_none", None),
    )
    assert store(command, "--app", submits, "--app", names_none) == ("", "default")


def test_a_process_on_the_file_of_an_application_keeps_its_journal_beside_it(command: Command, folder: Path) -> None:
    app = application(folder, "in_a_file", "sqlite:///kept/here.db")
    rows = {row["variable"]: row for row in command("config", "show", "--json", "--app", app).lines()}
    assert rows["MAINSPRING_DATA"]["value"] == "kept"
    said = command("config", "show", "--json", "--app", app, "--data", "elsewhere").out
    assert '"elsewhere"' in said


def test_applications_on_one_store_agree_however_it_is_written(command: Command, folder: Path) -> None:
    one = application(folder, "written_short", "sqlite:///kept/here.db")
    other = application(folder, "written_long", f"sqlite:///{folder}/kept/here.db")
    store(command, "--app", one, "--app", other)


@pytest.mark.parametrize("name", ["serve", "worker"])
def test_applications_on_two_stores_are_refused(command: Command, folder: Path, name: str) -> None:
    one = application(folder, f"on_one_{name}", "postgresql://me:hunter2@db/x")
    other = application(folder, f"on_another_{name}", "postgresql://db/y")
    said = command(name, "--app", one, "--app", other, code=2).err
    assert "name several stores (postgresql://db/y, postgresql://me:***@db/x)" in said
    assert "--store" in said
    assert store(command, "--app", one, "--app", other, "--store", "sqlite:///mine.db")[1] == "--store"


@pytest.mark.parametrize("name", ["api", "scheduler", "seed"])
def test_what_has_no_flag_for_it_heeds_the_variable(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    one = application(folder, f"for_one_{name}", "sqlite:///one.db")
    other = application(folder, f"for_another_{name}", "sqlite:///another.db")
    monkeypatch.setenv("MAINSPRING_APP", f"{one},{other}")
    assert "several stores" in command(name, code=2).err


def test_a_worker_claims_from_the_store_of_its_application(folder: Path, postgres_url: str) -> None:
    app = application(folder, "on_postgresql", postgres_url)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "worker", "--app", app, "--log-format", "json"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stderr is not None
        try:
            started = next(line for line in map(json.loads, worker.stderr) if line["event"] == "process.started")
        finally:
            worker.terminate()
    assert started["store"].startswith("postgresql://")
    assert not (folder / "data" / "mainspring.db").exists()
