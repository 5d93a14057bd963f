from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from uuid import UUID
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.api.cursor import read_cursor, read_end, read_number, write_cursor, write_end, write_number
from mainspring.errors import Invalid
from tests.api.calling import Api

LISTS = ("/api/v1/jobs", "/api/v1/executions", "/api/v1/dead-letter", "/api/v1/audit", "/api/v1/locks")


@given(st.uuids(), st.integers(0, (1 << 63) - 1))
def test_what_was_written_is_read(position: UUID, number: int) -> None:
    assert read_cursor("jobs", write_cursor("jobs", position)) == position
    assert read_number("audit", write_number("audit", number)) == number


@given(st.datetimes(datetime(1970, 1, 1), timezones=st.just(UTC)), st.text())  # noqa: DTZ001 - hypothesis adds the zone
def test_an_end_that_was_written_is_read(end: datetime, name: str) -> None:
    assert read_end("locks", write_end("locks", end, name)) == (end, name)


@pytest.mark.parametrize("position", [b"", b"\xff" * 8, bytes(8) + b"\xff"])
def test_an_end_that_cannot_be_is_refused(position: bytes) -> None:
    check = crc32(b"locks" + position).to_bytes(4, "big")
    with pytest.raises(Invalid):
        read_end("locks", urlsafe_b64encode(position + check).decode().rstrip("="))


def test_nothing_is_nothing() -> None:
    assert (write_cursor("jobs", None), read_cursor("jobs", None)) == (None, None)
    assert (write_number("jobs", None), read_number("jobs", None)) == (None, None)


@given(st.uuids(), st.integers(0, 26), st.characters())
def test_a_cursor_with_another_character_is_refused(position: UUID, index: int, character: str) -> None:
    text = write_cursor("jobs", position)
    assert text is not None
    wrong = text[:index] + character + text[index + 1 :]
    if wrong != text:
        with pytest.raises(Invalid):
            read_cursor("jobs", wrong)


@given(st.text())
def test_what_nobody_wrote_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_cursor("jobs", text)


def test_the_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(Invalid):
        read_cursor("jobs", write_cursor("executions", UUID(int=1)))


@pytest.mark.parametrize("path", LISTS)
async def test_every_list_refuses_it(api: Api, path: str) -> None:
    for cursor in ("x", "01985c5e-7a53-7cc1-8f2b-3c1d5e9a0b47", write_cursor("other", UUID(int=1)), "%00", "é"):
        problem = await api.get(f"{path}?cursor={cursor}", 422)
        assert problem["field"] == "cursor"
