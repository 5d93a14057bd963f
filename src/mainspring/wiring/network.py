"""Who can reach us: the rule that keeps an open API on this machine."""

import ipaddress

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


def check_host(settings: Settings) -> None:
    """Refuse an address that others can reach, unless that was asked for in so many words."""
    if not is_loopback(settings.host) and not settings.trust_network:
        raise ConfigurationError(
            f"the API would be open to everybody who can reach {settings.host}: set MAINSPRING_TRUST_NETWORK=1 if that "
            "is meant, or leave --host out to serve this machine only"
        )
