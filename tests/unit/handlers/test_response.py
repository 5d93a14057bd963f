from datetime import timedelta

import pytest

from mainspring.testing.clock import START
from mainspring.worker.flow import Fail, RetryAfter
from mainspring.worker.handlers.response import Answer, judge_answer, parse_retry_after


def judge(status: int, *, body: str = "", retry_after: str | None = None) -> object:
    return judge_answer(
        Answer(status=status, body=body, truncated=False, retry_after=retry_after), "example.com", START
    )


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_2xx_is_success_and_its_body_the_result(status: int) -> None:
    assert judge(status, body="ok") == {"status": status, "body": "ok", "truncated": False}


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 599])
def test_what_may_pass_is_tried_again_by_the_policy(status: int) -> None:
    with pytest.raises(Fail, match=f"example.com answered {status}"):
        judge(status)


@pytest.mark.parametrize("status", [429, 503])
def test_what_may_pass_is_tried_again_when_the_receiver_says(status: int) -> None:
    with pytest.raises(RetryAfter, match=f"answered {status}") as asked:
        judge(status, retry_after="120")
    assert asked.value.delay == timedelta(minutes=2)


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422])
def test_a_refusal_is_tried_again_by_the_policy_whatever_it_says(status: int) -> None:
    with pytest.raises(Fail, match=f"example.com answered {status}"):
        judge(status, retry_after="120")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 304])
def test_a_redirect_is_a_failure(status: int) -> None:
    with pytest.raises(Fail, match="redirects are not followed"):
        judge(status)


def test_a_failure_quotes_the_beginning_of_the_answer() -> None:
    with pytest.raises(Fail) as failed:
        judge(500, body="out of\n  paper " + "x" * 1000)
    assert str(failed.value).startswith("example.com answered 500 Internal Server Error: out of paper xxx")
    assert len(str(failed.value)) < 400


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        (None, None),
        ("0", None),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("1.5", None),
        ("²", None),
        (" 7 ", timedelta(seconds=7)),
        ("3601", timedelta(hours=1)),
        ("9" * 5000, timedelta(hours=1)),
        ("Mon, 05 Jan 2026 12:00:30 GMT", timedelta(seconds=30)),
        ("Mon, 05 Jan 2026 12:00:30 -0000", timedelta(seconds=30)),
        ("Mon, 05 Jan 2026 11:59:30 GMT", None),
        ("Mon, 05 Jan 2099 11:59:30 GMT", timedelta(hours=1)),
        ("Mon, 99 Jan 2026 11:59:30 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_forms_and_bounded(text: str | None, delay: timedelta | None) -> None:
    assert parse_retry_after(text, START) == delay
