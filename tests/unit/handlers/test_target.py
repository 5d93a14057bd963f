from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from mainspring.worker.flow import Abandon, Fail
from mainspring.worker.handlers.policy import NetworkPolicy
from mainspring.worker.handlers.target import Target, read_url, resolve_checked


def answering(*addresses: str) -> "Resolver":
    return Resolver(addresses)


class Resolver:
    def __init__(self, addresses: Sequence[str]) -> None:
        self.addresses = addresses
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.addresses


HOSTILE = (
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "javascript:alert(1)",
    "//example.com/",
    "example.com",
    "http:///path",
    "http://",
    "http://:80/",
    "http://user@example.com/",
    "http://user:password@example.com/",
    "http://@example.com/",
    "http://:@example.com/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:80:90/",
    "http://exa mple.com/",
    "http://exam\tple.com/",
    "http://example.com/\r\nHost: inner",
    "http://example.com/\0",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://127.0.0.0x1/",
    "http://0177.0.0.1/",
    "http://127.0.0.01/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://1.2.3.256/",
    "http://0/",
    "http://0x/",
    "http://%31%32%37.0.0.1/",
    "http://[fe80::1%25eth0]/",
    "http://[::1/",
    "http://[::1%25lo]/",
    "http://[1::2::3]/",
    "http://a..b/",
    "http://-a.example/",
    "http://exa$mple.com/",
    "http://example.com/" + "a" * 8192,
)


@pytest.mark.parametrize("url", HOSTILE)
def test_a_url_that_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(Abandon, match="url: "):
        read_url(url)


# Spelled differently, but every reader takes them for the address itself; it is checked as such.
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://①②⑦.0.0.1/",
        "http://127。0。0。1/",
        "http://[::1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::ffff:a9fe:a9fe]/latest/meta-data/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[64:ff9b::10.0.0.1]/",
        "https://[fd00:ec2::254]/",
        "http://0.0.0.0/",
    ],
)
async def test_a_literal_address_is_checked_and_never_resolved(url: str) -> None:
    resolver = answering("8.8.8.8")
    with pytest.raises(Abandon, match="not on the public internet"):
        await resolve_checked(read_url(url), NetworkPolicy(), resolver)
    assert resolver.asked == []


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://example.com/a?b=c#d", "example.com", 80),
        ("HTTPS://EXAMPLE.com", "example.com", 443),
        ("https://example.com:8443/x@y", "example.com", 8443),
        ("http://example.com./", "example.com.", 80),
        ("http://bücher.example/", "xn--bcher-kva.example", 80),
        ("http://under_score.example/", "under_score.example", 80),
        ("http://1password.example/", "1password.example", 80),
    ],
)
def test_a_plain_url_is_understood(url: str, host: str, port: int) -> None:
    target = read_url(url)
    assert (target.host, target.port, target.literal) == (host, port, None)


def a_target() -> Target:
    return read_url("http://name.example:8080/")


async def test_a_name_is_resolved_once_and_its_addresses_keep_their_order() -> None:
    resolver = answering("2606:4700::1", "8.8.8.8", "8.8.8.8")
    addresses = await resolve_checked(a_target(), NetworkPolicy(), resolver)
    assert addresses == [ip_address("2606:4700::1"), ip_address("8.8.8.8")]
    assert resolver.asked == [("name.example", 8080)]


async def test_one_refused_address_refuses_the_name() -> None:
    with pytest.raises(Abandon, match=r"name\.example is not on the public internet"):
        await resolve_checked(a_target(), NetworkPolicy(), answering("8.8.8.8", "10.0.0.1"))


async def test_a_refusal_does_not_tell_what_a_name_means_inside() -> None:
    with pytest.raises(Abandon) as refused:
        await resolve_checked(a_target(), NetworkPolicy(), answering("10.20.30.40"))
    assert "10.20.30.40" not in str(refused.value)


async def test_a_name_without_addresses_may_have_some_later() -> None:
    with pytest.raises(Fail, match=r"can't resolve name\.example: it has no address"):
        await resolve_checked(a_target(), NetworkPolicy(), answering())


async def test_a_resolver_that_fails_may_answer_later() -> None:
    async def broken(host: str, port: int) -> Sequence[str]:
        raise OSError(f"no answer for {host}:{port}")

    with pytest.raises(Fail, match=r"can't resolve name\.example: no answer"):
        await resolve_checked(a_target(), NetworkPolicy(trusted=True), broken)
