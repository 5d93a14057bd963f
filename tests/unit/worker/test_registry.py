import functools
from collections.abc import Callable
from typing import Any

import pytest

import mainspring
from mainspring.errors import ConfigurationError
from mainspring.worker.registry import DEFAULT, Kind, Registry


class Callables:
    async def __call__(self, payload: Any) -> None: ...


async def asynchronous(payload: Any, context: Any) -> None: ...
def plain(payload: Any) -> None: ...
def bare() -> None: ...
def optional(payload: Any = None, context: Any = None) -> None: ...
def greedy(one: Any, two: Any, three: Any) -> None: ...
def demanding(*, needed: Any) -> None: ...
def anything(*arguments: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "kind", "arguments"),
    [
        (asynchronous, Kind.ASYNC, 2),
        (plain, Kind.THREAD, 1),
        (bare, Kind.THREAD, 0),
        (optional, Kind.THREAD, 2),
        (anything, Kind.THREAD, 2),
        (Callables(), Kind.ASYNC, 1),
        (functools.partial(asynchronous, 1), Kind.ASYNC, 1),
    ],
    ids=["async", "plain", "bare", "optional", "anything", "callable", "partial"],
)
def test_how_a_handler_is_called_is_read_from_its_signature(
    function: Callable[..., Any], kind: Kind, arguments: int
) -> None:
    registry = Registry()
    registry.add("work", function)
    handler = registry.find("work")
    assert handler is not None
    assert (handler.kind, handler.arguments) == (kind, arguments)


def test_an_isolated_handler_is_found_by_its_address() -> None:
    registry = Registry()
    registry.handler("work", isolate=True)(plain)
    handler = registry.find("work")
    assert handler is not None
    assert handler.kind is Kind.PROCESS
    assert handler.address == f"{__name__}:plain"


def test_names_and_lanes_are_those_that_were_registered() -> None:
    registry = Registry()
    registry.handler("b", lane="heavy")(bare)
    registry.handler("a")(plain)
    assert registry.names() == {"b": "heavy", "a": "default"}
    assert registry.lanes() == ["default", "heavy"]
    assert registry.find("c") is None


def test_the_decorator_returns_the_function_itself() -> None:
    assert Registry().handler("work")(plain) is plain


def test_a_name_can_be_taken_once() -> None:
    registry = Registry()
    registry.add("work", plain)
    with pytest.raises(ConfigurationError, match="'work' is registered twice"):
        registry.add("work", bare)


@pytest.mark.parametrize(
    "function",
    [greedy, demanding],
    ids=["three arguments", "keyword needed"],
)
def test_a_handler_that_wants_more_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError, match="must take"):
        Registry().add("work", function)


def test_a_generator_is_refused() -> None:
    def generator() -> Any:
        yield

    with pytest.raises(ConfigurationError, match="generator"):
        Registry().add("work", generator)


def test_an_isolated_handler_must_be_importable() -> None:
    with pytest.raises(ConfigurationError, match="top level"):
        Registry().add("work", lambda: None, isolate=True)


def test_the_package_offers_the_default_registry_lazily() -> None:
    assert mainspring.handler.__self__ is DEFAULT  # type: ignore[attr-defined]  # a bound method
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mainspring.nothing  # noqa: B018
