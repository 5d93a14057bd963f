from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses

from mainspring.worker.handlers.addresses import is_public
from mainspring.worker.handlers.policy import HandlerPolicy, NetworkPolicy
from tests.unit.handlers.contexts import networks

PUBLIC = (
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
)
NOT_PUBLIC = (
    "0.0.0.0",  # noqa: S104 - never bound to
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a9fe:a9fe::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
)


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_always_permitted(text: str) -> None:
    assert NetworkPolicy().permits(ip_address(text))


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_all_others_are_permitted_only_by_trust(text: str) -> None:
    assert not NetworkPolicy().permits(ip_address(text))
    assert NetworkPolicy(trusted=True).permits(ip_address(text))


@given(ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_private_or_multicast(address: object) -> None:
    parsed = ip_address(str(address))
    embedding = parsed.version == 6 and any(
        parsed in network for network in networks("::ffff:0:0/96", "64:ff9b::/96", "2002::/16")
    )
    if not embedding and (parsed.is_private or parsed.is_multicast or parsed.is_reserved or parsed.is_link_local):
        assert not is_public(parsed)


def test_listed_networks_are_permitted_and_their_neighbours_are_not() -> None:
    policy = NetworkPolicy(allow=networks("10.1.0.0/16", "fd12::/16", "127.0.0.1"))
    assert policy.permits(ip_address("10.1.2.3"))
    assert policy.permits(ip_address("fd12::1"))
    assert policy.permits(ip_address("127.0.0.1"))
    assert not policy.permits(ip_address("10.2.0.1"))
    assert not policy.permits(ip_address("127.0.0.2"))
    assert not policy.permits(ip_address("fd13::1"))


def test_an_address_inside_another_is_permitted_by_its_own_network() -> None:
    policy = NetworkPolicy(allow=networks("10.1.0.0/16"))
    assert policy.permits(ip_address("::ffff:10.1.2.3"))
    assert policy.permits(ip_address("64:ff9b::a01:203"))
    assert not policy.permits(ip_address("::ffff:10.2.0.1"))


def test_a_policy_never_shows_its_secret() -> None:
    assert "whsec_" not in repr(HandlerPolicy(webhook_secret="whsec_hidden"))  # noqa: S106 - an example
