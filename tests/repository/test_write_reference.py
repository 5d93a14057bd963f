from pathlib import Path

import pytest

from mainspring.wiring.setting import Setting, settings_of
from mainspring.wiring.settings import Settings
from scripts import write_reference

PAGES = write_reference.pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    written = (write_reference.REFERENCE / name).read_text(encoding="utf-8")
    assert written == PAGES[name], "run `make docs` and commit what it writes"


@pytest.mark.parametrize("setting", settings_of(Settings), ids=lambda setting: setting.name)
def test_every_setting_has_its_row(setting: Setting) -> None:
    assert PAGES["settings.md"].count(f"| `{setting.flag}` |") == 1


def test_every_command_has_its_section_and_links_to_its_settings() -> None:
    page = PAGES["commands.md"]
    assert "## mainspring serve\n" in page
    assert "## mainspring schedule next\n" in page
    assert "Settings: [Store](settings.md#store).\n" in page


def test_a_default_is_shown_as_one_would_write_it() -> None:
    shown = {setting.name: write_reference.shown_default(setting) for setting in settings_of(Settings)}
    assert shown["retention"] == "`12`"
    assert shown["drain"] == "`30`"
    assert shown["ports"] == "`8080`"
    assert shown["worker_name"] == "the host's name"
    assert shown["webhook_allow"] == "none"
    assert shown["allow_shell"] == "`0`"


@pytest.mark.parametrize(
    ("option", "default"),
    [("--count", "`5`"), ("--samples", "off"), ("--jobs", "all cores"), ("--trace SEED", "none"), ("--name", "none")],
)
def test_an_option_of_a_command_shows_a_default_that_holds_everywhere(option: str, default: str) -> None:
    assert f"| `{option}` | {default} |" in PAGES["commands.md"]


def test_only_what_has_changed_is_written_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_reference.main(tmp_path)
    (tmp_path / "commands.md").write_text("by hand")
    capsys.readouterr()
    write_reference.main(tmp_path)
    assert capsys.readouterr().out == "wrote commands.md\n"
    assert (tmp_path / "commands.md").read_text(encoding="utf-8") == PAGES["commands.md"]
