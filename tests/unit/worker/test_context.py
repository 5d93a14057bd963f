import asyncio
import math
import threading
from datetime import timedelta

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.task import Task
from mainspring.errors import ConfigurationError
from mainspring.worker.cancellation import Cancellation
from mainspring.worker.context import Context, Toolbox
from mainspring.worker.output import KEPT, Transcript
from tests.unit.worker.harness import an_attempt
from tests.unit.worker.leaps import START, leaping


def test_a_context_tells_what_the_attempt_knows() -> None:
    attempt = an_attempt(task=Task(handler="work", payload=b'{"a": 1}', timeout=timedelta(seconds=9)))
    context = Context(attempt)
    assert (context.run_id, context.job_id, context.fence) == (attempt.run_id, attempt.job_id, attempt.fence)
    assert (context.attempt, context.owner, context.project, context.handler) == (1, "ada", "engine", "work")
    assert (context.payload, context.payload_text) == ({"a": 1}, b'{"a": 1}')
    assert context.due_at == START
    assert context.deadline == attempt.started_at + timedelta(seconds=9)


def test_the_deadline_counts_from_the_start_of_the_call() -> None:
    attempt = an_attempt()
    assert Context(attempt, started_at=START + timedelta(hours=1)).deadline == START + timedelta(hours=1, minutes=5)


def test_what_was_printed_is_taken_once_until_more_is_printed() -> None:
    told: list[Context] = []
    context = Context(an_attempt(), tools=Toolbox(printed=told.append))
    assert context.take_printed() is None
    context.print("one ")
    context.print(b"two\xff")
    context.progress(0.25, "a quarter")
    printed = context.take_printed()
    assert printed is not None
    assert (printed.head, printed.length, printed.progress, printed.message) == (b"one two\xff", 8, 0.25, "a quarter")
    assert context.take_printed() is None
    assert told == [context]
    context.print("three")
    assert told == [context, context]


def test_text_that_is_no_unicode_is_escaped() -> None:
    context = Context(an_attempt())
    context.print("\ud800")
    printed = context.take_printed()
    assert printed is not None
    assert printed.head == b"\\ud800"


@pytest.mark.parametrize(("given", "kept"), [(-1, 0.0), (2, 1.0), (math.nan, 0.0), (0.5, 0.5)])
def test_progress_stays_between_nothing_and_all(given: float, kept: float) -> None:
    context = Context(an_attempt())
    context.progress(given)
    printed = context.take_printed()
    assert printed is not None
    assert printed.progress == kept


def test_log_lines_carry_the_run_and_become_output() -> None:
    context = Context(an_attempt())
    with structlog.testing.capture_logs() as captured:
        context.log.info("importing", rows=3)
        context.log.warning("odd")
    printed = context.take_printed()
    assert printed is not None
    assert printed.head == b"info: importing rows=3\nwarning: odd\n"
    assert [(line["event"], line["attempt"], line["handler"]) for line in captured] == [
        ("importing", 1, "work"),
        ("odd", 1, "work"),
    ]
    assert {line["run_id"] for line in captured} == {str(context.run_id)}


def test_an_isolated_handler_is_told_that_it_has_no_locks() -> None:
    with pytest.raises(ConfigurationError, match="locks aren't available"):
        Context(an_attempt()).lock("resource")


@given(
    st.lists(st.binary(max_size=3 * KEPT) | st.builds(lambda size: b"x" * size, st.integers(0, 3 * KEPT)), max_size=6)
)
def test_a_transcript_keeps_both_ends_and_the_length(chunks: list[bytes]) -> None:
    transcript = Transcript()
    for chunk in chunks:
        transcript.append(chunk)
    head, tail, length = transcript.snapshot()
    whole = b"".join(chunks)
    assert length == len(whole)
    assert head == whole[:KEPT]
    assert tail == whole[KEPT:][-KEPT:]


def test_a_transcript_is_bounded() -> None:
    transcript = Transcript()
    for _ in range(1000):
        transcript.append(b"x" * 1000)
    assert len(transcript._head) + len(transcript._tail) <= 3 * KEPT


@leaping
async def test_a_cancellation_wakes_whoever_waits_in_the_loop() -> None:
    cancellation = Cancellation()
    waiter = asyncio.ensure_future(cancellation.wait())
    await asyncio.sleep(1)
    assert not waiter.done()
    cancellation.set()
    await waiter
    await cancellation.wait()
    assert cancellation.is_set()


def test_a_cancellation_wakes_threads() -> None:
    cancellation = Cancellation()
    assert not cancellation.wait_blocking(timedelta(0))
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(cancellation.wait_blocking()))
    thread.start()
    cancellation.set()
    thread.join()
    assert seen == [True]
    assert cancellation.wait_blocking()
