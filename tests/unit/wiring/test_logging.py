import io
import json
import logging
from collections.abc import Iterator
from enum import Enum
from uuid import UUID

import pytest
import structlog

from mainspring.wiring.duties import Duty
from mainspring.wiring.logging import configure_logging


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def lines(form: str = "auto", level: str = "info") -> list[str]:
    stream = io.StringIO()
    configure_logging(form, level, stream)
    structlog.get_logger("mainspring.test").info("session.buried", worker="w-3")
    logging.getLogger("uvicorn.error").warning("port %s", 8080)
    logging.getLogger("uvicorn.access").info("GET /")
    try:
        int("bad")
    except ValueError:
        structlog.get_logger("mainspring.test").exception("role.failed")
    return stream.getvalue().splitlines()


def test_away_from_a_terminal_each_line_is_a_json_object() -> None:
    own, foreign, failure = map(json.loads, lines())
    assert list(own)[:3] == ["timestamp", "level", "event"]
    assert (own["event"], own["worker"], own["level"]) == ("session.buried", "w-3", "info")
    assert (foreign["event"], foreign["logger"]) == ("port 8080", "uvicorn.error")
    assert "ValueError: invalid literal" in failure["exception"]


def test_on_a_console_lines_are_for_people() -> None:
    text = "\n".join(lines("console"))
    assert "session.buried" in text
    assert "worker=w-3" in text
    assert "ValueError: invalid literal" in text


class Word(Enum):
    """What the field of a line may be."""

    API = "api"


@pytest.mark.parametrize("form", ["console", "json"])
def test_members_of_enumerations_and_ids_are_written_as_their_values(form: str) -> None:
    stream = io.StringIO()
    configure_logging(form, "info", stream)
    fields = {"roles": [Word.API, *Duty], "role": Word.API, "by": {Word.API: (UUID(int=7),)}, "run": UUID(int=7)}
    structlog.get_logger("mainspring.test").info("process.started", **fields)
    [line] = stream.getvalue().splitlines()
    for shown in ("'api', 'scheduler'", str(UUID(int=7)), "role"):
        assert shown in line.replace('"', "'")
    assert not any(raw in line for raw in ("<", "UUID(", "Word.", "Duty."))


def test_lines_below_the_level_are_left_out() -> None:
    assert not any("session.buried" in line for line in lines(level="warning"))
