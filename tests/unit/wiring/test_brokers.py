from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest

from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.measurements import Measurements
from mainspring.domain.ids import DEFAULT_LANE
from mainspring.domain.ticket import read
from mainspring.errors import ConfigurationError
from mainspring.ports.signals import lane_topic
from mainspring.testing.factories import Factory, a_session
from mainspring.wiring import brokers
from mainspring.wiring.brokers import SCHEMES, chosen_carrier, examine_broker, heralding, work_pipe
from mainspring.wiring.kinds import BROKER, DIRECT
from mainspring.wiring.measuring import MeasuredAttempts
from mainspring.wiring.reading import read_settings
from mainspring.wiring.resources import opened
from mainspring.wiring.settings import Settings
from mainspring.wiring.switchboard import within_process
from mainspring.worker.settings import Carrier
from servers.ports import free_port

TOPIC = lane_topic(DEFAULT_LANE)
LONG = timedelta(seconds=30)


async def chosen(settings: Settings) -> Carrier | None:
    async with AsyncExitStack() as closing:
        return await chosen_carrier(
            settings, Mock(), Measurements(), clock=SystemClock(), random=SystemRandom(), closing=closing
        )


async def test_by_default_work_is_claimed() -> None:
    assert Settings().work == DIRECT
    assert await chosen(Settings()) is None
    assert await examine_broker(Settings()) == ()


@pytest.mark.parametrize("text", ["direct", " DIRECT ", "redis://host", "rediss://user:secret@host:6379/1"])
def test_a_broker_is_named_by_its_url(text: str) -> None:
    assert BROKER.read(text) == (text if "//" in text else DIRECT)


@pytest.mark.parametrize("text", ["", "store", "host:6379", "amqp://host", "http://host"])
def test_nothing_else_is_a_broker(text: str) -> None:
    with pytest.raises(ValueError, match=text or ".*"):
        BROKER.read(text)


def test_one_url_of_redis_for_the_rest_leaves_the_work_to_the_store() -> None:
    settings = read_settings(flags={}, environment={"REDIS_URL": "redis://host"})
    assert (settings.signals, settings.work) == ("redis://host", DIRECT)


def test_a_password_is_never_shown() -> None:
    settings = read_settings(flags={}, environment={"MAINSPRING_WORK": "redis://:hunter2@host/0"})
    assert "work=redis://:***@host/0" in repr(settings)
    assert settings.by_store_alone().work == DIRECT


async def test_a_missing_driver_is_answered_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without = replace(SCHEMES["redis"], open=AsyncMock(side_effect=ModuleNotFoundError(name="redis")))
    monkeypatch.setattr(brokers, "SCHEMES", {"redis": without})
    settings = read_settings(flags={"work": "redis://host"}, environment={})
    with pytest.raises(ConfigurationError, match=r"--work .* pip install 'mainspring\[redis\]'"):
        await chosen(settings)


async def test_a_broker_that_is_not_there_keeps_nobody_from_starting() -> None:
    carrier = await chosen(Settings(work=f"redis://127.0.0.1:{free_port()}/0"))
    assert carrier is not None
    assert not carrier.broker.connection.up


async def test_a_broker_is_examined(redis_url: str) -> None:
    (remark,) = await examine_broker(Settings(work=redis_url))
    assert (remark.subject, remark.step) == ("work", "")


async def test_what_goes_comes_and_is_refused_is_counted(redis_url: str, tmp_path: Path) -> None:
    async with opened(Settings(work=redis_url, data=tmp_path)) as resources:
        assert resources.carrier is not None
        tickets, broker = resources.carrier.tickets, resources.carrier.broker
        make = Factory(start=resources.clock.now())
        await resources.store.work.add([make.run(), make.run()])
        await (await resources.switchboard.sender()).notify([TOPIC])
        deliveries = await broker.receive([TOPIC], 10, LONG)
        await broker.acknowledge(deliveries)
        one, other = [read(delivery.body) for delivery in deliveries]
        session = await resources.store.sessions.open(a_session("one"))
        answers = await tickets.start(session, [one, replace(other, run_id=make.run().id)])
        assert [answer is None for answer in answers] == [False, True]
        MeasuredAttempts(resources.measurements).unreadable()
        counted = {sample.labels["event"]: sample.value for sample in resources.measurements.tickets.family().samples}
    assert counted == {"published": 2, "unpublished": 0, "received": 2, "refused": 1, "unreadable": 1}


async def test_what_is_to_be_published_is_not_told_of_by_the_store_before() -> None:
    exchange = replace(within_process(), herald=Mock())
    assert heralding(Settings(), exchange) is exchange.herald
    assert heralding(Settings(work="redis://host"), exchange) is None


async def test_how_it_stands_with_the_broker_is_told_to_whoever_asks(redis_url: str) -> None:
    up, away = [await chosen(Settings(work=url)) for url in (redis_url, f"redis://127.0.0.1:{free_port()}/0")]
    assert up is not None
    assert away is not None
    known = work_pipe(up.broker)
    assert (known.purpose, known.connected, known.error) == ("work", True, None)
    assert not work_pipe(away.broker).connected
    assert work_pipe(away.broker).error
