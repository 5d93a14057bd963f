"""The handlers that every worker brings along."""

import os
from collections.abc import Mapping

from mainspring.ports.time import Clock, Random
from mainspring.ports.tracing import UNTRACED, Tracing
from mainspring.ports.upkeep import Upkeep
from mainspring.worker.handlers import trial
from mainspring.worker.handlers.cleanup import Cleanup
from mainspring.worker.handlers.policy import HandlerPolicy
from mainspring.worker.handlers.shell import OFF, SHELL_HANDLERS, Shell
from mainspring.worker.handlers.signature import signing_key
from mainspring.worker.handlers.simulate import Simulate
from mainspring.worker.handlers.target import Resolve, system_resolve
from mainspring.worker.handlers.webhook import Webhook
from mainspring.worker.registry import Registry


class Builtin:
    """What the built-in handlers hold open between runs; close it after the last run."""

    def __init__(self, webhook: Webhook, shell: Shell) -> None:
        self._webhook = webhook
        self._shell = shell

    async def close(self) -> None:
        """Release everything; closing twice is harmless."""
        self._shell.close()
        await self._webhook.close()


def register_builtin(
    registry: Registry,
    *,
    policy: HandlerPolicy,
    clock: Clock,
    random: Random,
    upkeep: Upkeep | None = None,
    resolve: Resolve = system_resolve,
    environment: Mapping[str, str] = os.environ,
    tracing: Tracing = UNTRACED,
) -> Builtin:
    """Register what may run here; ConfigurationError for a bad secret.

    `system.cleanup` needs a store to clean, and the shell handlers are switched off where the policy says so.
    """
    key = None if policy.webhook_secret is None else signing_key(policy.webhook_secret)
    webhook = Webhook(network=policy.network, key=key, clock=clock, resolve=resolve, tracing=tracing)
    shell = Shell(clock=clock, environment=environment)
    registry.add("http.webhook", webhook)
    for name, function in zip(SHELL_HANDLERS, (shell.command, shell.script), strict=True):
        if policy.shell:
            registry.add(name, function)
        else:
            registry.switch_off(name, OFF.format(where="this worker"))
    registry.add("test.echo", trial.echo)
    registry.add("test.delay", trial.Delay(clock=clock))
    registry.add("test.log", trial.log)
    registry.add("lab.simulate", Simulate(clock=clock, random=random))
    if upkeep is not None:
        registry.add("system.cleanup", Cleanup(upkeep=upkeep))
    return Builtin(webhook, shell)
