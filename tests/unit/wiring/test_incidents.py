import asyncio
from collections.abc import Iterator, MutableMapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from mainspring.domain.outcome import Failed, Lost, Outcome, Verdict, judge
from mainspring.domain.plan import Skip, SkipReason
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import Attempt
from mainspring.domain.task import Task
from mainspring.testing.clock import START, ManualClock
from mainspring.testing.factories import Factory
from mainspring.wiring.incidents import LINES, LONGEST_ERROR, LoggedIncidents, presentable
from tests.unit.worker.harness import an_attempt

Lines = list[MutableMapping[str, Any]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    with capture_logs() as written:
        yield written


@pytest.fixture
async def incidents(lines: Lines) -> LoggedIncidents:
    del lines  # they are captured first
    return LoggedIncidents(ManualClock(START), interval=timedelta(days=1))


def tried(retries: int, **fields: Any) -> Attempt:
    retry = RetryPolicy(max_retries=retries, initial=timedelta(seconds=8), jitter=0)
    return an_attempt(task=Task(handler="orders.ship", payload=b'"card 4111"', retry=retry), **fields)


def told(incidents: LoggedIncidents, attempt: Attempt, outcome: Outcome) -> Verdict:
    verdict = judge(attempt, outcome, now=START, uniform=0.0)
    incidents.failed(attempt, verdict)
    return verdict


async def test_a_failure_that_is_retried_says_of_what_why_and_when_next(
    incidents: LoggedIncidents, lines: Lines
) -> None:
    attempt = tried(3)
    told(incidents, attempt, Failed(error="OSError: no route\n  File ship.py, line 7"))
    assert lines == [
        {
            "event": "attempt.failed",
            "log_level": "warning",
            "handler": "orders.ship",
            "job": str(attempt.job_id),
            "execution": str(attempt.run_id),
            "owner": "ada",
            "attempt": 1,
            "error": "OSError: no route",
            "next_try": (START + timedelta(seconds=8)).isoformat(),
        }
    ]


async def test_a_dead_letter_says_why_there_is_no_next_try(incidents: LoggedIncidents, lines: Lines) -> None:
    told(incidents, tried(0), Failed(error="ValueError: bad"))
    told(incidents, tried(3), Failed(error="no such thing", permanent=True))
    told(incidents, tried(3, losses=2), Lost())
    assert [(line["event"], line["log_level"], line["reason"], line["error"]) for line in lines] == [
        ("execution.failed", "error", "retries exhausted", "ValueError: bad"),
        ("execution.failed", "error", "permanent failure", "no such thing"),
        ("execution.failed", "error", "lost too often", "attempt lost: session ended"),
    ]


async def test_a_lost_attempt_is_no_failure(incidents: LoggedIncidents, lines: Lines) -> None:
    told(incidents, tried(3), Lost())
    [line] = lines
    assert (line["event"], line["error"]) == ("attempt.lost", "attempt lost: session ended")
    assert line["next_try"] == START.isoformat()


async def test_a_wait_that_was_cut_says_to_what(incidents: LoggedIncidents, lines: Lines) -> None:
    attempt = tried(3)
    incidents.clamped(attempt, told(incidents, attempt, Failed(error="x", retry_after=timedelta.max)))
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("attempt.failed", "warning"),
        ("wait.clamped", "warning"),
    ]
    assert (lines[1]["execution"], lines[1]["days"]) == (str(attempt.run_id), 3650)


async def test_outcomes_that_change_nothing_are_named(incidents: LoggedIncidents, lines: Lines) -> None:
    verdict = judge(tried(0), Failed(error="x"), now=START, uniform=0.0)
    incidents.stale(verdict)
    incidents.refused(verdict, "value too long")
    assert [(line["event"], line["execution"], line["attempt"], line["token"]) for line in lines] == [
        (event, str(verdict.run_id), 1, 1) for event in ("outcome.stale", "settle.refused")
    ]


async def test_fire_times_without_an_execution_say_how_many_and_why(incidents: LoggedIncidents, lines: Lines) -> None:
    job = Factory().job(name="nightly")
    for reason in (SkipReason.MISFIRE, SkipReason.OVERLAP):
        incidents.skipped(job, Skip(job_id=job.id, first=START, last=START, count=1, reason=reason))
    assert [(line["event"], line["log_level"], line["name"], line["reason"], line["count"]) for line in lines] == [
        ("schedule.misfired", "warning", "nightly", "misfire", 1),
        ("schedule.skipped", "info", "nightly", "overlap", 1),
    ]


async def test_a_storm_is_a_few_lines_of_each_kind_and_the_number_of_the_others(
    incidents: LoggedIncidents, lines: Lines
) -> None:
    for _ in range(1_000):
        told(incidents, tried(3), Failed(error="x"))
    told(incidents, tried(0), Failed(error="the one that matters"))
    assert [line["event"] for line in lines] == ["attempt.failed"] * LINES + ["execution.failed"]
    incidents.close()
    summary = {"event": "lines.left_out", "log_level": "warning", "of": "attempt.failed", "count": 1_000 - LINES}
    assert {**lines[-1], **summary} == lines[-1]
    told(incidents, tried(3), Failed(error="x"))
    incidents.close()
    assert lines[-1]["event"] == "attempt.failed", "nothing was left out of the second interval"


async def test_what_was_left_out_is_told_when_the_interval_ends_though_nothing_more_happens(lines: Lines) -> None:
    incidents = LoggedIncidents(ManualClock(START), lines=1, interval=timedelta(milliseconds=1))
    for _ in range(3):
        told(incidents, tried(3), Failed(error="x"))
    async with asyncio.timeout(30):
        while len(lines) < 2:  # noqa: ASYNC110 - the log calls nobody
            await asyncio.sleep(0)
    assert (lines[1]["event"], lines[1]["count"]) == ("lines.left_out", 2)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("can't reach postgresql://me:hunter2@db/x", "can't reach postgresql://db/x"),
        ("can't reach redis://:hunter2@cache:6379/0: refused", "can't reach redis://cache:6379/0: refused"),
        ("can't reach postgresql://me:hunter2@hunter2@db/x", "can't reach postgresql://db/x"),
        ("can't reach postgresql://me:hunter2/hunter2@db/x", "can't reach postgresql://db/x"),
        ("can't reach amqp://:hunter2/hunter2@mq", "can't reach amqp://mq"),
        ("GET https://a.example:8080/@b/c@d", "GET https://a.example:8080/@b/c@d"),
        ("GET http://[::1]:8080/@b: refused", "GET http://[::1]:8080/@b: refused"),
        ("GET https://a.example/b?key=hunter2&x=1 said 403", "GET https://a.example/b?*** said 403"),
        ("GET https://a.example/b#access_token=hunter2", "GET https://a.example/b#***"),
        ("Authorization: Bearer hunter2hunter2", "Authorization: ***"),
        ("sent bearer hunter2hunter2 in vain", "sent bearer *** in vain"),
        ("password=hunter2, user=me", "password=***, user=me"),
        ("""{"api_key": "hunter2 and more", "n": 1}""", """{"api_key": ***, "n": 1}"""),
        ("{'AWS_SECRET_ACCESS_KEY': 'hunter2'}", "{'AWS_SECRET_ACCESS_KEY': ***}"),
        ("Login(user='me', password=b'hunter2 hunter2', n=1)", "Login(user='me', password=***, n=1)"),
        (r"""{"password": "hunter2\" hunter2", "n": 1}""", """{"password": ***, "n": 1}"""),
        ("KeyError: 'token'", "KeyError: 'token'"),
        (
            "exit code 1: \x1b[31mred\x1b[0m",
            "exit code 1: \N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}[0m",
        ),
        ("\n first\nsecond", "first"),
        ("x" * 500, "x" * (LONGEST_ERROR - 1) + "…"),
    ],
)
def test_a_line_shows_the_beginning_of_an_error_and_no_secret(error: str, shown: str) -> None:
    assert presentable(error) == shown


@given(st.text(max_size=3_000))
def test_whatever_a_handler_raises_is_one_short_line(error: str) -> None:
    shown = presentable(error)
    assert shown is not None
    assert shown.isprintable()
    assert len(shown) <= LONGEST_ERROR
