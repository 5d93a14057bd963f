import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.ids import Fence, Lane, RunId
from mainspring.domain.ticket import Ticket, read, written

TICKET = Ticket(
    run_id=RunId(UUID("01a1e221-d285-7dd0-870e-7f814355130e")),
    fence=Fence(3),
    lane=Lane("mail"),
    priority=70,
    wake_at=datetime(2026, 1, 5, 12, 0, 0, 123456, tzinfo=UTC),
)

tickets = st.builds(
    Ticket,
    run_id=st.uuids().map(RunId),
    fence=st.integers(min_value=0, max_value=2**31 - 1).map(Fence),
    lane=st.text().map(Lane),
    priority=st.integers(min_value=0, max_value=100),
    wake_at=st.datetimes(timezones=st.just(UTC)),
)


@given(ticket=tickets)
def test_a_ticket_is_read_as_it_was_written(ticket: Ticket) -> None:
    assert read(written(ticket)) == ticket


def test_people_can_read_a_ticket() -> None:
    assert json.loads(written(TICKET)) == {
        "run": "01a1e221-d285-7dd0-870e-7f814355130e",
        "fence": 3,
        "lane": "mail",
        "priority": 70,
        "wake_at": "2026-01-05T12:00:00.123456+00:00",
    }


def test_an_instant_elsewhere_is_the_same_instant() -> None:
    there = TICKET.wake_at.astimezone(timezone(timedelta(hours=5)))
    message = json.dumps({**json.loads(written(TICKET)), "wake_at": there.isoformat(), "added_later": [1]})
    assert read(message.encode()) == TICKET


@pytest.mark.parametrize(
    "parts",
    [
        {"run": "nobody"},
        {"run": 7},
        {"run": None},
        {"fence": -1},
        {"fence": 2**31},
        {"fence": "3"},
        {"fence": True},
        {"lane": None},
        {"priority": 101},
        {"priority": -1},
        {"priority": 50.0},
        {"wake_at": "now"},
        {"wake_at": 7},
        {"wake_at": "2026-01-05T12:00:00"},
        {"wake_at": "0001-01-01T00:00:00+05:00"},
    ],
    ids=str,
)
def test_what_has_a_wrong_part_is_no_ticket(parts: dict[str, Any]) -> None:
    message = json.dumps({**json.loads(written(TICKET)), **parts}).encode()
    with pytest.raises(ValueError, match="no ticket"):
        read(message)


@pytest.mark.parametrize("part", ["run", "fence", "lane", "priority", "wake_at"])
def test_what_lacks_a_part_is_no_ticket(part: str) -> None:
    parts = json.loads(written(TICKET))
    del parts[part]
    with pytest.raises(ValueError, match="no ticket"):
        read(json.dumps(parts).encode())


@given(message=st.binary() | st.sampled_from([b"[]", b"null", b'"x"', b"{}", b"[" * 100_000, b"9" * 5_000]))
def test_whatever_else_a_broker_brings_is_no_ticket(message: bytes) -> None:
    with pytest.raises(ValueError, match="no ticket"):
        read(message)
