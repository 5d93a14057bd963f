import json
from datetime import timedelta
from typing import Any

import pytest

from mainspring.domain.ids import BlobId
from mainspring.domain.outcome import (
    MAX_ERROR,
    MAX_LOG_ENTRIES,
    Cancelled,
    Failed,
    HandedBack,
    Lost,
    Outcome,
    Snoozed,
    Succeeded,
    Verdict,
    fingerprint,
    judge,
)
from mainspring.domain.retry import LONGEST_DELAY, RetryPolicy
from mainspring.domain.run import Attempt, State
from mainspring.domain.suspects import EXPIRED, RESTARTED, UNKNOWN, WAITS
from mainspring.domain.task import Task
from tests.unit.domain.factories import RUN, at, attempt


def judged(the_attempt: Attempt, outcome: Outcome, uniform: float = 0.0) -> Verdict:
    return judge(the_attempt, outcome, now=at(5), uniform=uniform)


def log_of(verdict: Verdict) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(verdict.log)
    return entries


EVERY_OUTCOME = [
    Succeeded(),
    Failed(error="boom"),
    Snoozed(delay=timedelta(seconds=1)),
    HandedBack(),
    Cancelled(),
    Lost(),
]


@pytest.mark.parametrize("outcome", EVERY_OUTCOME)
def test_a_verdict_names_the_hand_over_that_it_is_about(outcome: Outcome) -> None:
    verdict = judged(attempt(), outcome)
    assert (verdict.run_id, verdict.fence) == (RUN, 3)
    assert verdict.session == (7 if isinstance(outcome, Lost) else None)


def test_a_success_keeps_its_result_and_forgets_nothing() -> None:
    verdict = judged(attempt(number=2, failures=1, log=b"[]"), Succeeded(result=b"42"))
    assert (verdict.state, verdict.result, verdict.blob, verdict.error) == (State.SUCCEEDED, b"42", None, None)
    assert (verdict.attempt, verdict.failures, verdict.log) == (2, 1, b"[]")


def test_a_large_result_lies_in_a_blob() -> None:
    assert judged(attempt(), Succeeded(blob=BlobId("abc"))).blob == "abc"


def test_a_failure_waits_for_its_backoff() -> None:
    verdict = judged(attempt(number=2, failures=1, losses=1), Failed(error="boom"))
    assert (verdict.state, verdict.delay) == (State.WAITING, timedelta(seconds=2))
    assert (verdict.attempt, verdict.failures, verdict.losses, verdict.error) == (2, 2, 0, "boom")


def test_a_failure_waits_as_long_as_its_handler_asked_for() -> None:
    assert judged(attempt(), Failed(error="boom", retry_after=timedelta(0))).delay == timedelta(0)
    assert judged(attempt(), Failed(error="boom", retry_after=timedelta(hours=1))).delay == timedelta(hours=1)


def test_nobody_waits_for_a_negative_time() -> None:
    assert judged(attempt(), Snoozed(delay=timedelta(seconds=-1))).delay == timedelta(0)


@pytest.mark.parametrize("delay", [timedelta(days=365 * 9000), timedelta.max])
def test_nobody_waits_longer_than_ten_years(delay: timedelta) -> None:
    patient = Task(handler="report", retry=RetryPolicy(initial=delay, maximum=delay, jitter=1.0))
    for outcome in (Snoozed(delay=delay), HandedBack(delay=delay), Failed(error="boom", retry_after=delay)):
        assert judged(attempt(), outcome).delay == LONGEST_DELAY
    assert judged(attempt(task=patient), Failed(error="boom"), uniform=1.0).delay == LONGEST_DELAY


def test_chance_draws_the_jitter() -> None:
    jittery = Task(handler="report", retry=RetryPolicy(jitter=1.0))
    assert judged(attempt(task=jittery), Failed(error="boom"), uniform=0.5).delay == timedelta(seconds=1.5)


@pytest.mark.parametrize("retries", [0, 3])
def test_a_run_is_dead_when_one_more_attempt_has_failed_than_there_are_retries(retries: int) -> None:
    task = Task(handler="report", retry=RetryPolicy(max_retries=retries))
    verdict = judged(attempt(failures=retries, task=task), Failed(error="boom"))
    assert (verdict.state, verdict.failures, verdict.reason) == (State.DEAD, retries + 1, "retries exhausted")
    assert verdict.error == "boom"


def test_a_permanent_failure_is_not_tried_again() -> None:
    verdict = judged(attempt(), Failed(error="boom", permanent=True))
    assert (verdict.state, verdict.failures, verdict.reason) == (State.DEAD, 1, "permanent failure")


def test_a_snooze_charges_nothing_and_ends_a_row_of_losses() -> None:
    verdict = judged(attempt(number=4, failures=1, losses=2), Snoozed(delay=timedelta(seconds=9)))
    assert (verdict.state, verdict.delay) == (State.WAITING, timedelta(seconds=9))
    assert (verdict.attempt, verdict.failures, verdict.losses) == (4, 1, 0)
    assert log_of(verdict)[-1]["outcome"] == "snoozed"
    assert log_of(verdict)[-1]["error"] is None


def test_a_hand_back_takes_its_attempt_back_and_leaves_no_trace() -> None:
    verdict = judged(attempt(number=2, failures=1, losses=1, log=b"[1]"), HandedBack(reason="draining"))
    assert (verdict.state, verdict.delay) == (State.WAITING, timedelta(0))
    assert (verdict.attempt, verdict.failures, verdict.losses) == (1, 1, 1)
    assert (verdict.reason, verdict.log) == ("draining", b"[1]")


def test_a_hand_back_needs_no_reason() -> None:
    verdict = judged(attempt(), HandedBack(delay=timedelta(seconds=3)))
    assert (verdict.reason, verdict.delay) == (None, timedelta(seconds=3))


def test_a_cancelled_run_has_ended() -> None:
    verdict = judged(attempt(), Cancelled(reason="by ann"))
    assert (verdict.state, verdict.reason) == (State.CANCELLED, "by ann")


def test_a_lost_attempt_waits_again_at_once_and_is_not_a_failure() -> None:
    task = Task(handler="report", retry=RetryPolicy(max_retries=0))
    verdict = judged(attempt(losses=1, task=task), Lost())
    assert (verdict.state, verdict.delay) == (State.WAITING, timedelta(0))
    assert (verdict.failures, verdict.losses, verdict.error) == (0, 2, "attempt lost: session ended")


def test_the_third_loss_in_a_row_is_the_last() -> None:
    verdict = judged(attempt(losses=2), Lost(reason="past its deadline"))
    assert (verdict.state, verdict.losses, verdict.reason) == (State.DEAD, 3, "lost too often")
    assert verdict.error == "attempt lost: past its deadline"


def lost_in_a_row(*shared: int | None) -> list[Verdict]:
    """The verdicts on a run that is handed over and lost again and again."""
    verdicts: list[Verdict] = []
    log, losses, suspect = b"", 0, False
    for number, each in enumerate(shared, 1):
        the_attempt = attempt(number=number, log=log, losses=losses, suspect=suspect)
        verdicts.append(judged(the_attempt, Lost(shared=each)))
        log, losses, suspect = verdicts[-1].log, verdicts[-1].losses, verdicts[-1].suspect
    return verdicts


def test_a_loss_that_was_shared_is_charged_to_nobody() -> None:
    [verdict] = lost_in_a_row(EXPIRED)
    assert (verdict.state, verdict.losses, verdict.suspect) == (State.WAITING, 0, False)


def test_the_second_shared_loss_in_a_row_makes_a_suspect() -> None:
    _, verdict = lost_in_a_row(EXPIRED, EXPIRED)
    assert (verdict.state, verdict.losses, verdict.suspect) == (State.WAITING, 0, True)
    assert verdict.reason == WAITS


def test_what_restarted_workers_report_counts_half() -> None:
    assert [verdict.suspect for verdict in lost_in_a_row(*[RESTARTED] * 4)] == [False, False, False, True]
    assert [verdict.suspect for verdict in lost_in_a_row(RESTARTED, EXPIRED, RESTARTED)] == [False, False, True]


def test_a_loss_of_which_nobody_knows_whether_it_was_shared_makes_nobody_a_suspect() -> None:
    verdicts = lost_in_a_row(*[UNKNOWN] * 20)
    assert {(verdict.state, verdict.losses, verdict.suspect) for verdict in verdicts} == {(State.WAITING, 0, False)}


def test_a_suspect_is_charged_for_each_loss_and_the_third_is_the_last() -> None:
    *_, second, third, last = lost_in_a_row(EXPIRED, EXPIRED, None, EXPIRED, None)
    assert [(each.losses, each.suspect) for each in (second, third)] == [(1, True), (2, True)]
    assert (last.state, last.losses, last.reason) == (State.DEAD, 3, "lost too often")


def test_a_suspect_whose_loss_nobody_can_explain_stays_one_and_is_charged_nothing() -> None:
    verdict = judged(attempt(losses=1, suspect=True), Lost(shared=UNKNOWN))
    assert (verdict.state, verdict.losses, verdict.suspect, verdict.reason) == (State.WAITING, 1, True, WAITS)


def test_a_loss_alone_between_shared_ones_leaves_them_in_a_row() -> None:
    assert [verdict.suspect for verdict in lost_in_a_row(EXPIRED, None, EXPIRED)] == [False, False, True]


@pytest.mark.parametrize("outcome", [Failed(error="busy"), Snoozed(delay=timedelta(0))], ids=["failed", "snoozed"])
def test_whatever_ends_without_a_loss_clears_a_suspect(outcome: Outcome) -> None:
    *_, verdict = lost_in_a_row(EXPIRED, EXPIRED)
    cleared = judged(attempt(number=3, log=verdict.log, suspect=True), outcome)
    assert (cleared.suspect, cleared.losses) == (False, 0)
    again = judged(attempt(number=4, log=cleared.log), Lost(shared=EXPIRED))
    assert not again.suspect


def test_a_suspect_that_is_handed_back_stays_one() -> None:
    assert judged(attempt(suspect=True), HandedBack()).suspect


def test_the_log_says_what_became_of_each_attempt() -> None:
    first = judged(attempt(), Failed(error="boom"))
    second = judged(attempt(number=2, failures=1, log=first.log), Lost())
    assert [(entry["attempt"], entry["outcome"]) for entry in log_of(second)] == [(1, "failed"), (2, "lost")]
    assert log_of(first)[0] == {
        "attempt": 1,
        "token": 3,
        "worker": "anvil",
        "started_at": "2030-01-01T00:00:00+00:00",
        "completed_at": "2030-01-01T00:00:05+00:00",
        "outcome": "failed",
        "error": "boom",
    }


def test_the_log_keeps_the_last_attempts_only() -> None:
    task = Task(handler="report", retry=RetryPolicy(max_retries=100))
    log = b""
    for number in range(1, MAX_LOG_ENTRIES + 4):
        log = judged(attempt(number=number, task=task, log=log), Failed(error="x" * 5000)).log
    entries = json.loads(log)
    assert [entry["attempt"] for entry in entries] == list(range(4, MAX_LOG_ENTRIES + 4))
    assert all(len(entry["error"]) == 500 for entry in entries)


def test_an_error_is_kept_where_it_is_short_and_cut_in_the_middle_where_it_is_long() -> None:
    assert judged(attempt(), Failed(error="e" * MAX_ERROR)).error == "e" * MAX_ERROR
    error = judged(attempt(), Failed(error="first" + "x" * 100_000 + "last")).error
    assert error is not None
    assert error.startswith("first")
    assert error.endswith("last")
    assert len(error) == MAX_ERROR + len("\n…\n")


def test_an_error_that_no_store_could_keep_is_escaped() -> None:
    assert judged(attempt(), Failed(error="a\0b\ud800c")).error == "a\\x00b\\ud800c"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("timeout after 30 s", "timeout after 31 s"),
        ("no user 'ann'", "no user 'bob'"),
        ('no user "ann"', 'no user "bob"'),
        ("object at 0x7f3a", "object at 0x1bcd"),
        ("run 0190a000-0000-7000-8000-000000000001 failed", "run 0190b111-0000-7000-8000-00000000abcd failed"),
    ],
)
def test_dead_letters_of_the_same_kind_have_the_same_fingerprint(one: str, other: str) -> None:
    assert fingerprint("report", one) == fingerprint("report", other)


def test_dead_letters_of_different_kinds_have_different_fingerprints() -> None:
    kinds = {fingerprint("report", "boom"), fingerprint("report", "bang"), fingerprint("mail", "boom")}
    assert len(kinds) == 3
