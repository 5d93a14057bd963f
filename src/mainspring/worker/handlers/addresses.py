"""Which addresses belong to the public internet. Pure.

The table is our own: what the standard library calls global differs from one Python to the next, and a policy must not.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# The special-purpose registries of IANA, and one address that only looks public.
_SPECIAL_IPV4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; a cloud's metadata service lives here too
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's host agent, reachable from every machine of it
        "169.254.0.0/16",  # link-local, and with it the usual metadata service
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays, deprecated
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# Unicast that is global begins with 001; loopback, unique local, link-local, multicast and the rest lie outside.
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_SPECIAL_IPV6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")


def destination(address: Address) -> Address:
    """Where packets to *address* end up: the IPv4 address inside a mapped, NAT64 or 6to4 one, else itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address(int(address) >> 80 & 0xFFFF_FFFF)
    return address


def is_public(address: Address) -> bool:
    """Whether *address* is one that anybody on the internet could reach just as well."""
    end = destination(address)
    if isinstance(end, IPv4Address):
        return not any(end in network for network in _SPECIAL_IPV4)
    return end in _GLOBAL_IPV6 and not any(end in network for network in _SPECIAL_IPV6)
