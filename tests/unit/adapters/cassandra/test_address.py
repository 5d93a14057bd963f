from datetime import timedelta

import pytest

from mainspring.adapters.cassandra.address import Address, address
from mainspring.errors import ConfigurationError


def test_a_short_url_says_enough() -> None:
    assert address("cassandra://db") == Address(
        hosts=("db",), port=9042, keyspace="mainspring", replication={"": 3}, wait=timedelta(seconds=60)
    )


def test_a_long_url_says_everything() -> None:
    url = (
        "scylla://me:p%40ss@a,b,c:9043/jobs?replication=berlin:3,oslo:2&datacenter=berlin&consistency=local"
        "&tls=1&authority=/ca.pem&certificate=/me.pem&key=/me.key&wait=5"
    )
    assert address(url) == Address(
        hosts=("a", "b", "c"),
        port=9043,
        keyspace="jobs",
        replication={"berlin": 3, "oslo": 2},
        datacenter="berlin",
        local=True,
        user="me",
        password="p@ss",  # noqa: S106 - an example
        tls=True,
        authority="/ca.pem",
        certificate="/me.pem",
        key="/me.key",
        wait=timedelta(seconds=5),
    )


@pytest.mark.parametrize(
    ("places", "hosts", "port"),
    [
        ("a:1,b:1", ("a", "b"), 1),
        ("a:7000,b", ("a", "b"), 7000),
        ("[::1]", ("::1",), 9042),
        ("[::1]:9043,[fe80::1]", ("::1", "fe80::1"), 9043),
    ],
)
def test_hosts_share_one_port(places: str, hosts: tuple[str, ...], port: int) -> None:
    read = address(f"cassandra://{places}/k")
    assert (read.hosts, read.port) == (hosts, port)


def test_credentials_may_be_parameters() -> None:
    read = address("cassandra://db/k?user=me&password=hunter2")
    assert (read.user, read.password) == ("me", "hunter2")


def test_a_password_is_never_shown() -> None:
    read = address("cassandra://me:hunter2@db/k")
    assert read.shown == "cassandra://db:9042/k"
    assert "hunter2" not in repr(read)


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("cassandra:///k", "names no host"),
        ("cassandra://a,,b/k", "names no host"),
        ("cassandra://a:1,b:2/k", "the same port"),
        ("cassandra://a:x/k", "the port x"),
        ("cassandra://a/Keyspace", "small letters"),
        ("cassandra://a/k?replication=0", "from 1 to 20"),
        ("cassandra://a/k?replication=berlin:", "from 1 to 20"),
        ("cassandra://a/k?datacenter=b'", "nodetool status"),
        ("cassandra://a/k?consistency=one", "local, or everywhere"),
        ("cassandra://a/k?consistency=local", "add datacenter="),
        ("cassandra://a/k?tls=yes", "1 or 0"),
        ("cassandra://a/k?wait=-1", "from 0 to 3600"),
        ("cassandra://a/k?keyspace=k", "keyspace means nothing"),
    ],
)
def test_what_cannot_be_used_is_refused_with_advice(url: str, advice: str) -> None:
    with pytest.raises(ConfigurationError, match=advice):
        address(url)
