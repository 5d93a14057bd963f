import pytest
from structlog.testing import capture_logs

from mainspring.domain.ids import SessionId
from mainspring.domain.run import State
from mainspring.errors import StoreUnavailable
from mainspring.services.rescuer import BATCH, POLL, Rescuer
from tests.unit.incidents import NotedIncidents
from tests.unit.services.fakes import (
    FakeAudit,
    FakeClock,
    FakeRandom,
    FakeSessions,
    FakeSignals,
    FakeUpkeep,
    FakeWork,
    attempt,
    everything,
    nothing,
    seconds,
)


class World:
    """A rescuer and all that it touches."""

    def __init__(self, *, owner: bool = True) -> None:
        self.clock = FakeClock()
        self.signals = FakeSignals(self.clock)
        self.sessions = FakeSessions()
        self.work = FakeWork(self.sessions)
        self.upkeep = FakeUpkeep()
        self.audit = FakeAudit()
        self.incidents = NotedIncidents()
        self.rescuer = Rescuer(
            sessions=self.sessions,
            work=self.work,
            upkeep=self.upkeep,
            audit=self.audit,
            signals=self.signals,
            clock=self.clock,
            random=FakeRandom(),
            owns=everything if owner else nothing,
            incidents=self.incidents,
        )


@pytest.fixture
def world() -> World:
    return World()


def held(world: World, session: int, count: int, lane: str = "default") -> None:
    world.sessions.ended.append(SessionId(session))
    world.sessions.holdings[SessionId(session)] = [
        attempt(session, run=session * 10_000 + number, lane=lane) for number in range(count)
    ]


async def test_the_runs_of_an_ended_session_wait_again_and_their_lanes_are_told(world: World) -> None:
    held(world, 1, 2, "mail")
    held(world, 2, 1, "web")
    with capture_logs() as logs:
        await world.rescuer.step()
    assert [(verdict.state, verdict.losses, verdict.session) for verdict in world.work.settled] == [
        (State.WAITING, 0, 1),
        (State.WAITING, 0, 1),
        (State.WAITING, 1, 2),
    ]
    assert world.signals.notified == [("work/mail",), ("work/web",)]
    assert [(what, state) for what, _, state in world.incidents.noted] == [("failed", State.WAITING)] * 3
    assert [(entry["session"], entry["rescued"]) for entry in logs] == [(1, 2), (2, 1)]


async def test_a_session_that_held_very_many_runs_is_rescued_whole(world: World) -> None:
    held(world, 1, 2 * BATCH + 1)
    await world.rescuer.step()
    assert len(world.work.settled) == 2 * BATCH + 1


async def test_a_loss_is_charged_by_what_the_session_held_at_its_end_however_few_are_left(world: World) -> None:
    held(world, 1, 1)
    world.sessions.held_at_end = {SessionId(1): 6}
    await world.rescuer.step()
    assert [(verdict.losses, verdict.suspect) for verdict in world.work.settled] == [(0, False)]


async def test_a_session_of_which_nobody_knows_what_it_held_makes_no_suspects(world: World) -> None:
    log = b""
    for _ in range(5):
        world.sessions.ended = [SessionId(1)]
        world.sessions.holdings = {SessionId(1): [attempt(log=log)]}
        world.sessions.held_at_end = {SessionId(1): 0}
        await world.rescuer.step()
        world.clock.elapsed += seconds(1)
        log = world.work.settled[-1].log
    assert {(verdict.losses, verdict.suspect) for verdict in world.work.settled} == {(0, False)}


async def test_what_is_lost_together_twice_becomes_suspect_is_told_and_wakes_nobody(world: World) -> None:
    held(world, 1, 2)
    await world.rescuer.step()
    world.clock.elapsed += seconds(1)
    log = world.work.settled[-1].log
    world.signals.notified.clear()
    world.sessions.holdings = {SessionId(1): [attempt(run=run, log=log) for run in (1, 2)]}
    with capture_logs() as logs:
        await world.rescuer.step()
    assert [(verdict.suspect, verdict.losses) for verdict in world.work.settled[2:]] == [(True, 0), (True, 0)]
    assert [entry["event"] for entry in logs] == ["runs.suspected", "session.buried"]
    assert (logs[0]["runs"], logs[0]["handlers"]) == (2, ["report"])
    assert world.signals.notified == []


async def test_a_run_that_was_lost_too_often_wakes_nobody(world: World) -> None:
    world.sessions.ended = [SessionId(1)]
    world.sessions.holdings = {SessionId(1): [attempt(losses=2)]}
    await world.rescuer.step()
    assert world.work.settled[0].state is State.DEAD
    assert [(what, state) for what, _, state in world.incidents.noted] == [("failed", State.DEAD)]
    assert world.signals.notified == []


async def test_runs_that_somebody_else_settled_meanwhile_are_left_alone(world: World) -> None:
    held(world, 1, 1)
    world.work.stale = True
    with capture_logs() as logs:
        assert await world.rescuer.step() == seconds(1)
    assert (world.signals.notified, logs, world.incidents.noted) == ([], [], [])


async def test_a_run_past_its_deadline_is_taken_from_its_holder(world: World) -> None:
    world.sessions.late = [attempt(lane="mail")]
    with capture_logs() as logs:
        await world.rescuer.step()
    assert world.work.settled[0].error == "attempt lost: past its deadline"
    assert world.signals.notified == [("work/mail",)]
    assert [entry["event"] for entry in logs] == ["runs.overdue"]


async def test_each_chore_has_its_own_interval(world: World) -> None:
    for _ in range(21):
        await world.clock.sleep(await world.rescuer.step())
    assert world.clock.elapsed == seconds(21)
    assert (world.sessions.burials, world.upkeep.folds, world.sessions.overdue_looks) == (21, 21, 3)


async def test_a_chore_with_more_to_do_goes_on_at_once(world: World) -> None:
    world.upkeep.tallies = 2 * BATCH
    world.audit.unchained = BATCH + 1
    assert await world.rescuer.step() == seconds(0)
    assert await world.rescuer.step() == seconds(0)
    assert await world.rescuer.step() == seconds(1)
    assert (world.upkeep.tallies, world.audit.unchained) == (0, 0)
    assert world.sessions.burials == 1


async def test_many_ended_sessions_are_worked_off_without_a_pause(world: World) -> None:
    for session in range(BATCH):
        held(world, session, 1)
    assert await world.rescuer.step() == seconds(0)
    assert await world.rescuer.step() == seconds(1)


async def test_repairs_are_reported(world: World) -> None:
    world.sessions.repairs = 3
    with capture_logs() as logs:
        await world.rescuer.step()
    assert [(entry["event"], entry["repairs"]) for entry in logs] == [("indexes.repaired", 3)]


async def test_a_chore_that_fails_does_not_keep_the_others_from_their_turn(world: World) -> None:
    world.sessions.error = StoreUnavailable()
    with pytest.raises(StoreUnavailable):
        await world.rescuer.step()
    assert world.upkeep.folds == 0
    await world.rescuer.step()
    assert world.upkeep.folds == 1


async def test_somebody_else_rescues_where_this_process_does_not_own_it() -> None:
    world = World(owner=False)
    assert await world.rescuer.step() == POLL
    assert world.sessions.burials == 0


async def test_the_loop_rests_between_its_steps(world: World) -> None:
    await world.rescuer.run(world.clock.stop_at_nap(2))
    assert world.clock.slept == [seconds(1), seconds(1)]
