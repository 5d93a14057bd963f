from mainspring.ports.pipes import Pipe
from mainspring.services.lookout import INTERVAL, Lookout
from tests.unit.services.fakes import MIDNIGHT, FakeClock, FakeRandom, seconds

URL = "redis://host:6379/0"


class FakeProbe:
    """Answers what a test put in."""

    def __init__(self) -> None:
        self.url = URL
        self.answer: str | None = None

    async def ask(self) -> str | None:
        return self.answer


def seen(since: float, error: str | None = None) -> Pipe:
    connected = error is None
    return Pipe(purpose="signals", url=URL, connected=connected, since=MIDNIGHT + seconds(since), error=error)


async def test_a_server_is_connected_since_it_answered_and_away_since_it_did_not() -> None:
    probe, clock = FakeProbe(), FakeClock()
    lookout = Lookout(probe, clock, FakeRandom())
    told = []
    for answer in (None, None, "it is gone", "it is still gone", None):
        await clock.sleep(seconds(1))
        probe.answer = answer
        await lookout.step()
        told.append(lookout.pipe("signals"))
    assert told == [seen(1), seen(1), seen(3, "it is gone"), seen(3, "it is still gone"), seen(5)]


async def test_a_server_that_never_answered_is_away_since_the_beginning() -> None:
    probe, clock = FakeProbe(), FakeClock()
    probe.answer = "it isn't there"
    lookout = Lookout(probe, clock, FakeRandom())
    assert not lookout.pipe("signals").connected
    await clock.sleep(seconds(1))
    await lookout.step()
    assert lookout.pipe("signals") == seen(0, "it isn't there")


async def test_it_is_asked_again_and_again() -> None:
    clock = FakeClock()
    await Lookout(FakeProbe(), clock, FakeRandom()).run(clock.stop_at_nap(2))
    assert clock.slept == [INTERVAL, INTERVAL]
