import asyncio

import pytest

from mainspring.adapters.exchange import SEPARATOR
from mainspring.adapters.postgres.herald import CALM, PostgresHerald
from mainspring.ports.signals import Notice
from tests.unit.worker.leaps import leaping

MAIL, WEB = "work/mail", "work/web"
MOST_TOPICS = 1000


def a_herald() -> PostgresHerald:
    return PostgresHerald("channel", "me")


def announced(herald: PostgresHerald, *topics: str) -> bool:
    """Whether an addition that succeeds is told of by its own transaction."""
    with herald.announcing(topics) as notice:
        return notice is not None


@leaping
async def test_the_first_addition_after_a_calm_carries_the_signal_and_those_that_follow_closely_do_not() -> None:
    herald = a_herald()
    with herald.announcing([MAIL]) as notice:
        assert notice == Notice(channel="channel", payload=f"me{SEPARATOR}{MAIL}")
    for _ in range(3):  # for longer than a calm takes, but without one
        assert not announced(herald, MAIL)
        await asyncio.sleep(CALM / 2)
    await asyncio.sleep(CALM)
    assert announced(herald, MAIL)


@leaping
async def test_lanes_are_calm_each_for_itself() -> None:
    herald = a_herald()
    assert announced(herald, MAIL)
    assert announced(herald, WEB)


@leaping
async def test_additions_to_several_lanes_or_none_are_told_of_as_ever() -> None:
    herald = a_herald()
    assert not announced(herald, MAIL, WEB)
    assert not announced(herald)
    assert herald.untold([MAIL, WEB]) == [MAIL, WEB]


@leaping
async def test_what_a_transaction_told_spares_one_signal() -> None:
    herald = a_herald()
    assert announced(herald, MAIL)
    assert herald.untold([MAIL, WEB]) == [WEB]
    assert herald.untold([MAIL]) == [MAIL]


@leaping
async def test_what_a_transaction_would_have_told_had_it_not_failed_spares_none() -> None:
    herald = a_herald()
    with pytest.raises(ZeroDivisionError), herald.announcing([MAIL]):
        raise ZeroDivisionError
    assert herald.untold([MAIL]) == [MAIL]


@leaping
async def test_a_signal_is_spared_right_afterwards_or_not_at_all() -> None:
    herald = a_herald()
    assert announced(herald, MAIL)
    await asyncio.sleep(2 * CALM)
    assert herald.untold([MAIL]) == [MAIL]


@leaping
async def test_of_more_lanes_than_anybody_has_the_oldest_is_forgotten() -> None:
    herald = a_herald()
    for number in range(MOST_TOPICS + 1):
        assert announced(herald, f"work/{number}")
    assert announced(herald, "work/0")
    assert not announced(herald, f"work/{MOST_TOPICS}")
