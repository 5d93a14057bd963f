from datetime import timedelta
from itertools import pairwise

import pytest

from mainspring.domain.ids import Lane
from mainspring.ports.sessions import Role
from mainspring.services.ticker import BUSY, HEAD_START, LONGEST_REST, POLL, QUIET, Ticker
from tests.unit.services.fakes import (
    FakeClock,
    FakeRandom,
    FakeSessions,
    FakeSignals,
    FakeWork,
    everything,
    member,
    seconds,
)

MAIL, WEB = Lane("mail"), Lane("web")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def signals(clock: FakeClock) -> FakeSignals:
    return FakeSignals(clock)


@pytest.fixture
def sessions() -> FakeSessions:
    sessions = FakeSessions()
    sessions.members = [member("one", Role.WORKER, ["web", "mail"]), member("two", Role.WORKER, ["mail"])]
    return sessions


@pytest.fixture
def work(sessions: FakeSessions) -> FakeWork:
    return FakeWork(sessions)


@pytest.fixture
def ticker(work: FakeWork, sessions: FakeSessions, signals: FakeSignals, clock: FakeClock) -> Ticker:
    return Ticker(work, sessions, signals, clock, FakeRandom(), owns=everything)


async def test_a_lane_whose_run_nobody_takes_is_signalled_after_the_workers_head_start_and_not_before(
    ticker: Ticker, work: FakeWork, signals: FakeSignals, clock: FakeClock
) -> None:
    work.wakes = {MAIL: seconds(0.25), WEB: seconds(0.75)}
    wait = await ticker.step()
    assert wait == seconds(0.25) + HEAD_START
    assert signals.notified == []
    await clock.sleep(wait)
    work.wakes = {MAIL: -HEAD_START, WEB: seconds(0.5)}
    await ticker.step()
    assert signals.notified == [("work/mail",)]


async def test_a_run_that_a_worker_took_in_time_is_not_signalled(
    ticker: Ticker, work: FakeWork, signals: FakeSignals, clock: FakeClock
) -> None:
    work.wakes = {MAIL: seconds(0.25), WEB: seconds(0.75)}
    await clock.sleep(await ticker.step())
    work.wakes = {WEB: seconds(0.5) - HEAD_START}
    assert await ticker.step() == seconds(0.5)
    assert signals.notified == []


async def test_lanes_are_those_that_workers_serve(ticker: Ticker, work: FakeWork, sessions: FakeSessions) -> None:
    assert await ticker.step() == POLL
    assert work.looks == [(MAIL, WEB)]
    assert sessions.looks == [Role.WORKER]


async def test_who_is_served_is_seen_again_after_a_second(
    ticker: Ticker, work: FakeWork, sessions: FakeSessions, clock: FakeClock
) -> None:
    await ticker.step()
    sessions.members = []
    await clock.sleep(seconds(0.5))
    await ticker.step()
    await clock.sleep(seconds(0.5))
    await ticker.step()
    assert work.looks == [(MAIL, WEB), (MAIL, WEB)]


async def test_only_the_owner_of_a_lane_looks_after_it(
    work: FakeWork, sessions: FakeSessions, signals: FakeSignals, clock: FakeClock
) -> None:
    ticker = Ticker(work, sessions, signals, clock, FakeRandom(), owns=lambda name: name == "ticker/web")
    await ticker.step()
    assert work.looks == [(WEB,)]


async def test_no_sleep_is_longer_than_a_poll(ticker: Ticker, work: FakeWork) -> None:
    work.wakes = {MAIL: seconds(3600)}
    assert await ticker.step() == POLL


async def test_work_that_is_due_already_is_signalled_at_once(
    ticker: Ticker, work: FakeWork, signals: FakeSignals
) -> None:
    work.wakes = {MAIL: seconds(-3)}
    await ticker.step()
    assert signals.notified == [("work/mail",)]


async def test_due_work_that_nobody_claims_is_signalled_again_ever_more_rarely(
    ticker: Ticker, work: FakeWork, signals: FakeSignals, clock: FakeClock
) -> None:
    work.wakes = {MAIL: seconds(0)}
    told_at = []
    while clock.elapsed < seconds(5):
        known = len(signals.notified)
        wait = await ticker.step()
        if len(signals.notified) > known:
            told_at.append(clock.monotonic())
        await clock.sleep(wait)
    gaps = [round(later - earlier, 3) for earlier, later in pairwise(told_at)]
    assert gaps == sorted(gaps)
    assert gaps[0] < 0.02
    assert gaps[-1] == pytest.approx(1.0, abs=0.11)


async def test_work_that_came_right_after_a_signal_is_signalled_too(
    ticker: Ticker, work: FakeWork, signals: FakeSignals, clock: FakeClock
) -> None:
    work.wakes = {MAIL: seconds(0)}
    await clock.sleep(await ticker.step())
    work.wakes = {}  # claimed at once
    await ticker.step()
    await clock.sleep(QUIET)
    work.wakes = {MAIL: seconds(0)}
    await ticker.step()
    assert signals.notified == [("work/mail",), ("work/mail",)]


async def test_due_work_does_not_hide_what_is_due_after_it(
    ticker: Ticker, work: FakeWork, signals: FakeSignals, clock: FakeClock
) -> None:
    work.wakes = {MAIL: seconds(0)}
    wait = await ticker.step()
    assert wait == QUIET
    await clock.sleep(wait)
    work.wakes = {MAIL: seconds(0.5)}
    wait = await ticker.step()
    assert wait == seconds(0.5) + HEAD_START
    await clock.sleep(wait)
    work.wakes = {MAIL: seconds(0)}
    await ticker.step()
    assert signals.notified == [("work/mail",), ("work/mail",)]


async def test_a_lane_with_a_backlog_is_looked_at_ever_more_rarely(
    ticker: Ticker, work: FakeWork, clock: FakeClock
) -> None:
    work.wakes = {MAIL: seconds(0)}
    while clock.elapsed < seconds(3):
        await clock.sleep(await ticker.step())
    assert clock.slept[0] == QUIET
    assert clock.slept[-1] == BUSY
    assert [nap for nap in clock.slept if nap > QUIET] == sorted(nap for nap in clock.slept if nap > QUIET)
    work.wakes = {}
    assert await ticker.step() == POLL
    await clock.sleep(POLL)
    work.wakes = {MAIL: seconds(0)}
    assert await ticker.step() == QUIET


async def test_a_lane_is_looked_at_once_in_a_while_however_dense_its_moments(
    ticker: Ticker, work: FakeWork, clock: FakeClock
) -> None:
    work.wakes = {MAIL: seconds(0.0005)}
    for _ in range(100):
        await ticker.step()
        await clock.sleep(seconds(0.001))
    assert len(work.looks) == 20


async def test_many_signals_cause_few_looks(ticker: Ticker, work: FakeWork, clock: FakeClock) -> None:
    await ticker.step()
    waits = [await ticker.step() for _ in range(50)]
    assert waits == [QUIET] * 50
    assert len(work.looks) == 1
    await clock.sleep(QUIET)
    await ticker.step()
    assert len(work.looks) == 2


async def test_new_work_in_a_lane_makes_the_ticker_look_again(
    ticker: Ticker, work: FakeWork, signals: FakeSignals, clock: FakeClock
) -> None:
    signals.pending = 1
    await ticker.run(clock.stop_at_nap(2))
    topics = ("work/mail", "work/web")
    assert signals.waited == [(topics, POLL), (topics, POLL)]
    assert len(work.looks) == 2


async def test_the_workers_go_first_when_there_is_new_work(
    ticker: Ticker, signals: FakeSignals, clock: FakeClock
) -> None:
    await ticker.step()
    signals.pending, before = 1, clock.elapsed
    assert await ticker._listen(POLL)
    assert clock.elapsed - before == QUIET


async def test_news_without_a_break_is_looked_at_ever_more_rarely_until_it_ceases(
    ticker: Ticker, signals: FakeSignals, clock: FakeClock
) -> None:
    async def rest(*, news: bool) -> timedelta:
        signals.pending, before = int(news), clock.elapsed
        await ticker._listen(timedelta(0))
        return clock.elapsed - before

    await ticker.step()
    rests = [await rest(news=True) for _ in range(6)]
    assert rests == [QUIET, 2 * QUIET, 4 * QUIET, 8 * QUIET, LONGEST_REST, LONGEST_REST]
    await rest(news=False)
    assert await rest(news=True) == QUIET


async def test_news_does_not_hide_a_moment_that_is_known(
    ticker: Ticker, work: FakeWork, signals: FakeSignals, clock: FakeClock
) -> None:
    for _ in range(5):
        signals.pending = 1
        await ticker._listen(POLL)
    work.wakes = {MAIL: seconds(0.02)}
    await ticker.step()
    signals.pending, before = 1, clock.elapsed
    await ticker._listen(POLL)
    assert clock.elapsed - before == seconds(0.02) + HEAD_START
