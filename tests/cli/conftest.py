from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import VARIABLES, Command, serving


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Commands without any flags of their own."""
    return Command(monkeypatch, capsys)


@pytest.fixture
def on_store(command: Command, tmp_path: Path) -> Command:
    """Commands that work straight on a store, where nothing executes anything."""
    ready = command.on("--data", str(tmp_path / "data"))
    ready("migrate")
    return ready


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture
def on_server(command: Command, server_url: str) -> Command:
    """Commands to a server that executes jobs."""
    return command.on("--url", server_url)
