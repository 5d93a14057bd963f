from datetime import UTC, datetime

import pytest
from rich.console import Console

from mainspring.cli.columns import JOBS, RUNS, duration, harmless, relative, text_of, upcoming, why
from mainspring.cli.printing import details, table

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (None, ""),
        ("2030-01-01T12:00:05Z", "in 5 s"),
        ("2030-01-01T11:59:55Z", "5 s ago"),
        ("2030-01-01T10:30:00Z", "1 h ago"),
        ("2030-01-01T12:02:30.5Z", "in 2 min"),
        ("2029-12-01T12:00:00+01:00", "31 d ago"),
    ],
)
def test_a_moment_is_said_as_seen_from_now(moment: str | None, said: str) -> None:
    assert relative(moment, NOW) == said


def test_what_is_due_comes_now() -> None:
    assert upcoming("2030-01-01T11:00:00Z", NOW) == "now"
    assert upcoming("2030-01-01T13:00:00Z", NOW) == "in 1 h"
    assert upcoming(None, NOW) == ""


@pytest.mark.parametrize(("value", "said"), [(None, ""), (0, "0 ms"), (9999, "9,999 ms"), (61_500, "61.5 s")])
def test_a_duration_has_few_figures(value: int | None, said: str) -> None:
    assert duration(value) == said


def test_nothing_that_a_terminal_would_obey_gets_through() -> None:
    assert harmless("red \x1b[31m\x07 line\r\n") == "red \ufffd[31m\ufffd line\ufffd\n"
    assert text_of("one\n  two") == "one two"
    assert text_of({"a": None}) == '{"a": null}'


def test_the_last_line_of_an_error_says_why() -> None:
    assert why({"reason": "timeout", "error": "Traceback\nValueError: no"}) == "timeout: ValueError: no"
    assert why({"reason": None, "error": None}) == ""


@pytest.mark.parametrize(("count", "said"), [(37, "37"), (None, "more than 100")])
def test_a_skipped_range_says_how_many_and_until_when(count: int | None, said: str) -> None:
    first, last = "2030-01-01T00:00:00Z", "2030-01-01T10:00:00Z"
    item = {"reason": "misfire", "error": None, "fire_time": first, "skipped_to": last, "skipped_count": count}
    assert why(item) == f"misfire: {said} fire times until {last}"
    assert why({**item, "skipped_to": first, "skipped_count": 1}) == "misfire"
    assert f"{last} (2 h ago)" in printed(details(item, NOW), 80)


def printed(thing: object, width: int) -> str:
    console = Console(width=width, force_terminal=False)
    with console.capture() as capture:
        console.print(thing)
    return capture.get()


def test_a_narrow_table_shortens_names_and_never_ids() -> None:
    identity = "01a1e196-a0f9-76c2-af29-c29aaff3705a"
    job = {"id": identity, "name": "n" * 100, "handler": "test.echo", "status": "SCHEDULED", "schedule": "@every 1h"}
    narrow = printed(table([job], JOBS, NOW), 100)
    assert "…" in narrow
    assert "SCHEDULED" in narrow
    assert len(narrow.splitlines()) == 2
    assert identity in printed(table([job], JOBS, NOW), len(identity))
    assert "n" * 100 in printed(table([job], JOBS, NOW), 1000)


def test_columns_that_one_can_spare_make_room() -> None:
    identity = "01a1e196-a0f9-76c2-af29-c29aaff3705a"
    run = {"id": identity, "job_id": identity, "status": "FAILED", "worker_id": "me", "attempt": 1, "error": "no paper"}
    narrow = printed(table([run], RUNS, NOW, width=80), 80)
    assert narrow.count(identity) == 1
    assert "FAILED" in narrow
    assert "no paper" in narrow
    assert printed(table([run], RUNS, NOW, width=200), 200).count(identity) == 2


def test_markup_in_a_name_is_only_text() -> None:
    run = {"id": "1", "status": "FAILED", "error": "[bold]no[/bold] [/nonsense]"}
    assert "[bold]no[/bold] [/nonsense]" in printed(table([run], RUNS, NOW), 200)
    assert "[bold]no[/bold] [/nonsense]" in printed(details(run, NOW), 200)
