"""The built-in handlers, and what they may do here."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from mainspring.domain.ids import Lane
from mainspring.ports.keys import Scope
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
        policy=replace(policy(resources.settings), cleanup_by=partial(may_clean_up, resources)),
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


async def may_clean_up(resources: Resources, owner: str) -> bool:
    """Whether *owner* may prune everybody's history: once there are keys, it needs one for admins or the operator's."""
    keys = await resources.store.keys.list(None)
    now = resources.clock.now()
    admins = {key.owner for key in keys if key.scope is Scope.ADMIN and key.valid(now)}
    return not keys or owner in admins or owner in {given.owner for given in resources.settings.api_keys}


def policy(settings: Settings) -> HandlerPolicy:
    """Whoever can submit a job here is trusted with this machine if only this machine can reach us."""
    private = is_loopback(settings.host) and shared_folder(settings.store_url) is not None
    trusted = settings.trust_network or private
    return HandlerPolicy(
        shell=settings.allow_shell or trusted,
        network=NetworkPolicy(trusted=trusted, allow=settings.webhook_allow),
        webhook_secret=settings.webhook_secret or None,
    )
