"""What the built-in handlers may do on this worker, decided once from its settings."""

from dataclasses import dataclass, field
from ipaddress import ip_network

from mainspring.errors import ConfigurationError
from mainspring.worker.handlers.addresses import Address, Network, destination, is_public


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPolicy:
    """Where webhooks may go: to public addresses always, elsewhere by trust or by list."""

    trusted: bool = False
    """Everybody who can submit a job may also reach whatever this machine reaches."""
    allow: tuple[Network, ...] = ()

    def permits(self, address: Address) -> bool:
        """Whether a webhook may connect to *address*; one that carries another inside is judged by that one too."""
        return self.trusted or is_public(address) or self._lists(address) or self._lists(destination(address))

    def _lists(self, address: Address) -> bool:
        return any(address in network for network in self.allow)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerPolicy:
    """The safe choice is the default: no shell, no private addresses."""

    shell: bool = False
    network: NetworkPolicy = field(default_factory=NetworkPolicy)
    webhook_secret: str | None = field(default=None, repr=False)
    """`whsec_…`; without one, webhooks aren't signed."""
    cleanup_by: frozenset[str] | None = None
    """The owners whose jobs may prune history, which is everybody's; None means any."""


def parse_networks(text: str) -> tuple[Network, ...]:
    """Read a comma-separated list such as `10.0.0.0/8, fd00::/8`; a single address is a network of one."""
    return tuple(_parse_network(part.strip()) for part in text.split(",") if part.strip())


def _parse_network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ConfigurationError(f"MAINSPRING_WEBHOOK_ALLOW: {error}; write networks like 10.0.0.0/8") from None
