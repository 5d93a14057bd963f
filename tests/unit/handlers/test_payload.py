from collections.abc import Callable
from typing import Any

import pytest

from mainspring.worker.flow import Abandon
from mainspring.worker.handlers.payload import Fields


def test_null_is_an_object_without_fields() -> None:
    assert Fields(None, "a").text("a", "default") == "default"


@pytest.mark.parametrize("payload", ["text", 3, ["a"], True])
def test_a_payload_that_is_no_object_is_refused_with_the_names_of_its_fields(payload: Any) -> None:
    with pytest.raises(Abandon, match="payload: must be an object with url, method"):
        Fields(payload, "url", "method")


def test_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(Abandon, match="urll: there is no such field; the payload takes url, method"):
        Fields({"urll": "x"}, "url", "method")


READS: list[tuple[Callable[[Fields], object], Any, str]] = [
    (lambda fields: fields.text("a"), None, "a: is missing"),
    (lambda fields: fields.text("a"), "", "a: is missing"),
    (lambda fields: fields.text("a"), 3, "a: must be a string, not a number"),
    (lambda fields: fields.text("a"), "x\0y", "a: must be valid Unicode without NUL"),
    (lambda fields: fields.text("a"), "\ud800", "a: must be valid Unicode"),
    (lambda fields: fields.optional_text("a"), [], "a: must be a string, not a list"),
    (lambda fields: fields.number("a", 1, low=0, high=9), "3", "a: must be a number from 0 to 9, not a string"),
    (lambda fields: fields.number("a", 1, low=0, high=9), True, "not a boolean"),
    (lambda fields: fields.number("a", 1, low=0, high=9), 10, "a: must be from 0 to 9"),
    (lambda fields: fields.number("a", 1, low=0, high=9), float("nan"), "a: must be from 0 to 9"),
    (lambda fields: fields.flag("a"), 1, "a: must be true or false, not a number"),
    (lambda fields: fields.texts("a"), "x", "a: must be a list of strings, not a string"),
    (lambda fields: fields.texts("a"), ["x", 1], r"a\[1\]: must be a string, not a number"),
    (lambda fields: fields.mapping("a"), [], "a: must be an object of strings, not a list"),
    (lambda fields: fields.mapping("a"), {"k": None}, "a.k: must be a string, not null"),
]


@pytest.mark.parametrize(("read", "value", "message"), READS)
def test_a_wrong_value_is_refused_with_what_would_be_right(
    read: Callable[[Fields], object], value: Any, message: str
) -> None:
    with pytest.raises(Abandon, match=message):
        read(Fields({"a": value}, "a"))


def test_right_values_are_handed_out_as_they_are() -> None:
    fields = Fields({"t": "x", "n": 2.5, "f": True, "l": ["a", ""], "m": {"k": ""}}, "t", "n", "f", "l", "m")
    assert (fields.text("t"), fields.optional_text("t"), fields.number("n", 0, low=0, high=3)) == ("x", "x", 2.5)
    assert (fields.flag("f"), fields.texts("l"), fields.mapping("m")) == (True, ("a", ""), {"k": ""})


def test_absent_fields_take_their_defaults() -> None:
    fields = Fields({"a": None}, "a")
    assert fields.text("a", "d") == "d"
    assert fields.optional_text("a") is None
    assert fields.number("a", 7, low=0, high=1) == 7
    assert fields.flag("a", default=True) is True
    assert fields.texts("a") == ()
    assert fields.mapping("a") == {}


def test_a_refusal_never_repeats_the_value() -> None:
    with pytest.raises(Abandon) as refused:
        Fields({"headers": {"Authorization": ["Bearer hidden"]}}, "headers").mapping("headers")
    assert "hidden" not in str(refused.value)
