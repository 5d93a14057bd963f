"""The built-in handlers, and what they may do here."""

from collections.abc import Mapping
from dataclasses import replace

from mainspring.domain.ids import Lane
from mainspring.wiring.network import is_loopback
from mainspring.wiring.resources import Resources
from mainspring.wiring.settings import Settings
from mainspring.wiring.stores import shared_folder
from mainspring.worker.handlers import Builtin, register_builtin
from mainspring.worker.handlers.policy import HandlerPolicy, NetworkPolicy
from mainspring.worker.handlers.shell import OFF, SHELL_HANDLERS
from mainspring.worker.registry import Registry

SWITCHABLE = dict.fromkeys(SHELL_HANDLERS, OFF.format(where="every live worker"))
"""Built-in handlers that a worker's settings may switch off, and what is said where no live worker has them."""


def register(registry: Registry, resources: Resources, *, all_on: bool = False) -> Builtin:
    """Put the built-in handlers that may run here, or *all_on*, into *registry*; the caller closes what they hold."""
    allowed = policy(resources.settings)
    return register_builtin(
        registry,
        policy=replace(allowed, shell=allowed.shell or all_on),
        clock=resources.clock,
        random=resources.random,
        upkeep=resources.store.upkeep,
        tracing=resources.tracing,
    )


async def builtin_handlers(resources: Resources) -> Mapping[str, Lane]:
    """The names and lanes of all built-in handlers, which are known before the first worker came."""
    registry = Registry()
    await register(registry, resources, all_on=True).close()
    return registry.names()


def policy(settings: Settings) -> HandlerPolicy:
    """Whoever can submit a job here is trusted with this machine if only this machine can reach us."""
    private = is_loopback(settings.host) and shared_folder(settings.store_url) is not None
    trusted = settings.trust_network or private
    return HandlerPolicy(
        shell=settings.allow_shell or trusted,
        network=NetworkPolicy(trusted=trusted, allow=settings.webhook_allow),
        webhook_secret=settings.webhook_secret or None,
    )
