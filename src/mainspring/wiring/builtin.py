"""The built-in handlers, and what they may do here."""

from collections.abc import Mapping

from mainspring.domain.ids import Lane
from mainspring.wiring.network import is_loopback
from mainspring.wiring.resources import Resources
from mainspring.wiring.settings import Settings
from mainspring.wiring.stores import shared_folder
from mainspring.worker.handlers import Builtin, register_builtin
from mainspring.worker.handlers.policy import HandlerPolicy, NetworkPolicy
from mainspring.worker.registry import Registry


def register(registry: Registry, resources: Resources) -> Builtin:
    """Put the built-in handlers into *registry*; whoever calls closes what they hold."""
    return register_builtin(
        registry,
        policy=policy(resources.settings),
        clock=resources.clock,
        random=resources.random,
        upkeep=resources.store.upkeep,
        tracing=resources.tracing,
    )


async def builtin_handlers(resources: Resources) -> Mapping[str, Lane]:
    """The names and lanes of the built-in handlers, which are known before the first worker came."""
    registry = Registry()
    await register(registry, resources).close()
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
