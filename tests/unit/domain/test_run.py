from dataclasses import replace
from datetime import datetime

import pytest

from mainspring.domain.ids import Fence, RunId, Version
from mainspring.domain.run import TRANSITIONS, Key, Label, NewRun, Run, State
from mainspring.domain.task import Task
from tests.unit.domain.factories import JOB, MIDNIGHT, RUN, at

LIVE = (State.WAITING, State.RUNNING)
ENDED = (State.SUCCEEDED, State.DEAD, State.CANCELLED, State.SKIPPED)


def run(state: State = State.WAITING, *, wake_at: datetime | None = MIDNIGHT) -> Run:
    return Run(
        id=RUN,
        job_id=JOB,
        origin=None,
        owner="ann",
        project="books",
        name="",
        key=None,
        spec=None,
        task=Task(handler="report"),
        state=state,
        created_at=MIDNIGHT,
        version=Version(1),
        due_at=MIDNIGHT,
        wake_at=wake_at,
        fence=Fence(0),
        attempt=0,
        failures=0,
        losses=0,
        worker=None,
        started_at=None,
        finished_at=None,
        cancelling=False,
        result=None,
        result_blob=None,
        error=None,
        reason=None,
        skipped_to=None,
        skipped_count=None,
        log=b"",
    )


def test_a_run_with_its_job_s_own_id_is_a_one_shot_job() -> None:
    task = Task(handler="report")
    assert NewRun(id=RunId(JOB), job_id=JOB, task=task).one_shot
    assert not NewRun(id=RUN, job_id=JOB, task=task).one_shot
    assert replace(run(), id=RunId(JOB)).one_shot
    assert not run().one_shot


def test_every_state_has_its_place_in_the_table() -> None:
    assert tuple(TRANSITIONS) == (*LIVE, *ENDED) == tuple(State)


@pytest.mark.parametrize("state", ENDED)
def test_there_is_no_way_out_of_a_terminal_state(state: State) -> None:
    assert state.terminal
    assert TRANSITIONS[state] == frozenset()


@pytest.mark.parametrize("state", LIVE)
def test_a_live_run_can_end_in_any_way_but_as_skipped(state: State) -> None:
    assert not state.terminal
    assert TRANSITIONS[state] >= {State.SUCCEEDED, State.DEAD, State.CANCELLED}
    assert State.SKIPPED not in TRANSITIONS[state]


def test_a_running_run_is_never_handed_over_without_waiting_in_between() -> None:
    assert State.RUNNING not in TRANSITIONS[State.RUNNING]


@pytest.mark.parametrize(
    ("the_run", "label"),
    [
        (run(wake_at=at(11)), Label.SCHEDULED),
        (run(wake_at=at(10)), Label.READY),
        (run(wake_at=None), Label.PAUSED),
        (replace(run(wake_at=at(11)), attempt=1), Label.RETRYING),
        (replace(run(wake_at=None), attempt=1), Label.PAUSED),
        (run(State.RUNNING), Label.RUNNING),
        (replace(run(State.RUNNING), cancelling=True), Label.CANCELLING),
        (run(State.SUCCEEDED), Label.SUCCEEDED),
        (run(State.DEAD), Label.DEAD),
        (replace(run(State.CANCELLED), cancelling=True), Label.CANCELLED),
        (run(State.SKIPPED), Label.SKIPPED),
    ],
)
def test_a_run_is_called_by_what_it_waits_for(the_run: Run, label: Label) -> None:
    assert the_run.label(at(10)) is label


def test_keys_of_other_purposes_are_none_that_a_client_can_give() -> None:
    trigger, retry = Key.apart("trigger", "k", b"body"), Key.apart("retry", "k", b"body")
    assert trigger.text != retry.text
    assert not any(key.text.isprintable() for key in (trigger, retry))
