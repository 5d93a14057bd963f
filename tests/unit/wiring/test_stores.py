from contextlib import AsyncExitStack
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest

from mainspring.errors import ConfigurationError
from mainspring.wiring import stores
from mainspring.wiring.stores import Scheme, file_of, open_exchange, open_store, shared_folder


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///data/mainspring.db", Path("data/mainspring.db")),
        ("sqlite:////var/lib/m.db", Path("/var/lib/m.db")),
        ("sqlite:///with%20space.db", Path("with space.db")),
    ],
)
def test_three_slashes_are_relative_and_four_absolute(url: str, path: Path) -> None:
    assert file_of(url) == path


@pytest.mark.parametrize("url", ["sqlite:", "sqlite://", "sqlite:///", "sqlite://host/file.db", "sqlite:///:memory:"])
def test_a_url_without_a_file_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="names no file"):
        file_of(url)


def test_only_stores_in_files_share_a_folder() -> None:
    assert shared_folder("sqlite:////var/lib/m.db") == Path("/var/lib")
    assert shared_folder("postgresql://db/x") is None


async def test_an_unknown_scheme_is_answered_with_what_was_meant() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean sqlite://\?"):
        await open_store("sqllite:///x.db", clock=Mock(), random=Mock())
    with pytest.raises(ConfigurationError, match="use one of sqlite://"):
        await open_store("mongodb://x", clock=Mock(), random=Mock())


async def test_a_missing_driver_is_answered_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = AsyncMock(side_effect=ModuleNotFoundError(name="driver"))
    scheme = Scheme(open=missing, exists=missing, exchange=missing, extra="missing")
    monkeypatch.setattr(stores, "SCHEMES", {"missing": scheme})
    with pytest.raises(ConfigurationError, match=r"pip install 'mainspring\[missing\]'"):
        await open_store("missing://x", clock=Mock(), random=Mock())
    with pytest.raises(ConfigurationError, match="no module 'driver'"):
        await open_exchange("missing://x", random=Mock(), closing=AsyncExitStack())


async def test_a_folder_that_cannot_be_made_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="--data"):
        await open_store(f"sqlite:///{tmp_path}/file/deeper/m.db", clock=Mock(), random=Mock())
