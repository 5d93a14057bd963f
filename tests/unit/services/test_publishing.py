import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from mainspring.domain.ids import Fence, Lane, RunId, SessionId
from mainspring.domain.run import Attempt
from mainspring.domain.ticket import Ticket, read
from mainspring.errors import StoreUnavailable
from mainspring.ports.broker import Connection, Delivery, Message
from mainspring.ports.signals import TIMETABLE
from mainspring.ports.tickets import GRACE
from mainspring.services.publishing import BATCH, MOST_BATCHES, REST, SLOW, Publisher
from tests.unit.services.fakes import MIDNIGHT, FakeClock, FakeSignals, seconds

MAIL, WEB = Lane("mail"), Lane("web")


def ticket(number: int, lane: Lane = MAIL) -> Ticket:
    return Ticket(run_id=RunId(UUID(int=number)), fence=Fence(1), lane=lane, priority=number % 101, wake_at=MIDNIGHT)


class FakeTickets:
    """Gives out what a test put in."""

    def __init__(self) -> None:
        self.due: list[Ticket] = []
        self.asked: list[tuple[Lane, ...]] = []
        self.error: Exception | None = None
        self.open = asyncio.Event()
        self.open.set()
        self.clock = FakeClock()
        self.lasts = timedelta(0)

    async def take(self, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
        assert grace == GRACE
        self.asked.append(tuple(lanes))
        await self.open.wait()
        self.clock.elapsed += self.lasts
        if self.error is not None:
            raise self.error
        taken = [each for each in self.due if each.lane in lanes][:limit]
        runs = {each.run_id for each in taken}
        self.due = [each for each in self.due if each.run_id not in runs]
        return taken

    async def start(self, by: SessionId, tickets: Sequence[Ticket]) -> Sequence[Attempt | None]:
        raise NotImplementedError


class FakeBroker:
    """Takes messages until it fails."""

    def __init__(self) -> None:
        self.connection = Connection(url="fake", up=True, since=MIDNIGHT)
        self.published: list[tuple[str, Message]] = []
        self.broken: set[str] = set()

    async def publish(self, topic: str, messages: Sequence[Message]) -> bool:
        if topic in self.broken:
            return False
        self.published += [(topic, message) for message in messages]
        return True

    async def receive(self, topics: Sequence[str], limit: int, wait: timedelta) -> Sequence[Delivery]:
        raise NotImplementedError

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        raise NotImplementedError


@pytest.fixture
def signals() -> FakeSignals:
    return FakeSignals(FakeClock())


@pytest.fixture
async def tickets() -> FakeTickets:
    return FakeTickets()


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


@pytest.fixture
async def publisher(signals: FakeSignals, tickets: FakeTickets, broker: FakeBroker) -> Publisher:
    return Publisher(signals, tickets, broker, tickets.clock)


async def test_due_work_is_published_and_not_signalled(
    publisher: Publisher, signals: FakeSignals, tickets: FakeTickets, broker: FakeBroker
) -> None:
    tickets.due = [ticket(1), ticket(2, WEB)]
    await publisher.notify(["work/mail", "work/web"])
    assert [topic for topic, _ in broker.published] == ["work/mail", "work/web"]
    assert signals.notified == []


async def test_a_message_is_the_ticket_and_what_a_broker_sorts_by(
    publisher: Publisher, tickets: FakeTickets, broker: FakeBroker
) -> None:
    tickets.due = [ticket(70)]
    await publisher.notify(["work/mail"])
    ((_, message),) = broker.published
    assert read(message.body) == ticket(70)
    assert (message.key, message.priority, message.due_at) == (UUID(int=70), 70, MIDNIGHT)


async def test_a_lane_without_due_work_is_signalled(
    publisher: Publisher, signals: FakeSignals, tickets: FakeTickets
) -> None:
    tickets.due = [ticket(1)]
    await publisher.notify(["work/mail", "work/web"])
    assert signals.notified == [("work/web",)]


async def test_topics_that_are_no_lanes_are_signalled_at_once(
    publisher: Publisher, signals: FakeSignals, tickets: FakeTickets
) -> None:
    tickets.due = [ticket(1)]
    await publisher.notify([TIMETABLE, "work/mail", "session/7"])
    await publisher.notify([TIMETABLE])
    assert signals.notified == [(TIMETABLE, "session/7"), (TIMETABLE,)]
    assert tickets.asked == [(MAIL,)]


async def test_while_the_broker_is_away_nothing_is_taken_and_everything_signalled(
    publisher: Publisher, signals: FakeSignals, tickets: FakeTickets, broker: FakeBroker
) -> None:
    broker.connection = replace(broker.connection, up=False)
    tickets.due = [ticket(1)]
    await publisher.notify([TIMETABLE, "work/mail"])
    assert signals.notified == [(TIMETABLE, "work/mail")]
    assert tickets.asked == []


async def test_a_lane_that_cannot_be_published_is_signalled_and_so_is_what_comes_behind_it(
    publisher: Publisher, signals: FakeSignals, tickets: FakeTickets, broker: FakeBroker
) -> None:
    other = Lane("other")
    broker.broken = {"work/web"}
    tickets.due = [ticket(1), ticket(2, WEB), ticket(3, other)]
    await publisher.notify(["work/mail", "work/web", "work/other"])
    assert [topic for topic, _ in broker.published] == ["work/mail"]
    assert signals.notified == [("work/web", "work/other")]


async def test_a_store_that_says_no_leaves_it_to_the_signals(
    publisher: Publisher, signals: FakeSignals, tickets: FakeTickets
) -> None:
    tickets.error = StoreUnavailable("away")
    await publisher.notify(["work/mail"])
    assert signals.notified == [("work/mail",)]


async def test_a_store_that_finds_nothing_new_for_long_is_left_alone_for_longer(
    publisher: Publisher, signals: FakeSignals, tickets: FakeTickets
) -> None:
    tickets.lasts = seconds(2 * SLOW)
    tickets.due = [ticket(1)]
    for _ in range(3):
        await publisher.notify(["work/mail"])
    assert len(tickets.asked) == 2, "one that found something, and one that didn't"
    assert signals.notified == [("work/mail",)] * 2
    tickets.clock.elapsed += seconds(2 * SLOW * REST)
    tickets.due = [ticket(2)]
    await publisher.notify(["work/mail"])
    assert not tickets.due


async def test_a_full_batch_is_followed_by_another_but_not_for_ever(
    publisher: Publisher, signals: FakeSignals, tickets: FakeTickets, broker: FakeBroker
) -> None:
    tickets.due = [ticket(number) for number in range(2 * BATCH + 1)]
    await publisher.notify(["work/mail"])
    assert (len(broker.published), len(tickets.asked)) == (2 * BATCH + 1, 3)
    tickets.due = [ticket(number) for number in range((MOST_BATCHES + 1) * BATCH)]
    await publisher.notify(["work/mail"])
    assert len(tickets.due) == BATCH
    assert signals.notified == []


async def test_what_is_asked_for_meanwhile_goes_out_together(
    publisher: Publisher, signals: FakeSignals, tickets: FakeTickets
) -> None:
    tickets.open.clear()
    first = asyncio.create_task(publisher.notify(["work/mail"]))
    await asyncio.sleep(0)
    others = [asyncio.create_task(publisher.notify([topic])) for topic in ["work/mail", "work/web", "work/mail"]]
    await asyncio.sleep(0)
    tickets.open.set()
    await asyncio.gather(first, *others)
    assert tickets.asked == [(MAIL,), (MAIL, WEB)]
    assert signals.notified == [("work/mail",), ("work/mail", "work/web")]


async def test_waiting_is_left_to_the_signals(publisher: Publisher, signals: FakeSignals) -> None:
    signals.pending = 1
    assert await publisher.wait(["work/mail"], seconds(1))
    assert not await publisher.wait(["work/mail"], seconds(1))
