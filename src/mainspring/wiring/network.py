"""Who can reach us: the rule that keeps an open API on this machine."""

import ipaddress

from mainspring.api.access import LOOPBACK_NAMES, Access
from mainspring.errors import ConfigurationError
from mainspring.wiring.settings import Settings


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on *host*."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_host(settings: Settings, *, keyed: bool = False) -> None:
    """Refuse an address that others can reach, unless a key is needed there or that was asked for in so many words."""
    if not is_loopback(settings.host) and not (keyed or settings.api_keys or settings.trust_network):
        raise ConfigurationError(
            f"the API would be open to everybody who can reach {settings.host}: make a key by 'mainspring key create', "
            "set MAINSPRING_TRUST_NETWORK=1 if that is meant, or leave --host out to serve this machine only"
        )


def access_of(settings: Settings) -> Access:
    """How the API is guarded under these settings."""
    return Access(
        open_without_keys=is_loopback(settings.host) or settings.trust_network,
        keys=settings.api_keys,
        rate_per_second=settings.rate_per_second,
        quota=settings.quota_waiting,
    )


def own_names(settings: Settings) -> frozenset[str] | None:
    """The names that requests may call us by; None for any.

    Where others can reach us under names that nobody told us, they need a key, which no foreign page can send, or the
    network is trusted.
    """
    if not settings.allow_hosts and (settings.trust_network or not is_loopback(settings.host)):
        return None
    return LOOPBACK_NAMES | {settings.host.lower(), *settings.allow_hosts}
