"""What the built-in handlers may do on this worker, decided once from its settings."""

from dataclasses import dataclass, field

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
