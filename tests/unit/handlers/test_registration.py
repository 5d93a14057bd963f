from datetime import timedelta
from typing import Any

import pytest

from mainspring.adapters.system.chance import SystemRandom
from mainspring.domain.task import ADMIN_HANDLERS
from mainspring.errors import ConfigurationError
from mainspring.testing.clock import ManualClock
from mainspring.worker.handlers import Builtin, register_builtin
from mainspring.worker.handlers.policy import HandlerPolicy
from mainspring.worker.registry import Kind, Registry

WITHOUT_A_STORE = {
    "http.webhook",
    "lab.simulate",
    "shell.command",
    "shell.script",
    "test.delay",
    "test.echo",
    "test.log",
}
ALL_ON = HandlerPolicy(shell=True)  # noqa: S604 - no function is called by this


class NoUpkeep:
    async def prune(self, older_than: timedelta, limit: int) -> int:
        del older_than
        return limit - limit

    async def fold(self, limit: int) -> int:
        return limit - limit


def registered(registry: Registry, **fields: Any) -> Builtin:
    defaults: dict[str, Any] = {"policy": HandlerPolicy(), "clock": ManualClock(), "random": SystemRandom()}
    return register_builtin(registry, **{**defaults, **fields})


def test_all_run_in_the_loop_under_their_names() -> None:
    registry = Registry()
    registered(registry, policy=ALL_ON)
    assert set(registry.names()) == WITHOUT_A_STORE
    assert {handler.kind for name in WITHOUT_A_STORE if (handler := registry.find(name))} == {Kind.ASYNC}


def test_cleanup_needs_something_to_clean() -> None:
    registry = Registry()
    registered(registry, policy=ALL_ON, upkeep=NoUpkeep())
    assert set(registry.names()) == WITHOUT_A_STORE | {"system.cleanup"}
    assert set(registry.names()) >= ADMIN_HANDLERS


def test_a_worker_that_may_not_run_commands_does_not_say_that_it_does() -> None:
    registry = Registry()
    registered(registry)
    assert set(registry.names()) == WITHOUT_A_STORE - {"shell.command", "shell.script"}
    for name in ("shell.command", "shell.script"):
        assert registry.find(name) is None
        assert registry.why_not(name) == "shell handlers are off on this worker; MAINSPRING_ALLOW_SHELL=1 turns them on"


def test_the_name_of_a_handler_that_is_switched_off_stays_taken() -> None:
    registry = Registry()
    registered(registry)
    with pytest.raises(ConfigurationError, match="registered twice"):
        registry.add("shell.command", lambda payload: payload)


def test_a_bad_secret_is_noticed_at_the_start() -> None:
    with pytest.raises(ConfigurationError, match="webhook secret"):
        registered(Registry(), policy=HandlerPolicy(webhook_secret="hunter2"))  # noqa: S106 - an example


async def test_closing_what_was_never_used_and_closing_twice_are_harmless() -> None:
    builtin = registered(Registry())
    await builtin.close()
    await builtin.close()
