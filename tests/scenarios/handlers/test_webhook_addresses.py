"""Webhooks against receivers that they must not reach, and names that change their mind."""

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest

from mainspring.worker.flow import Abandon, Fail
from mainspring.worker.handlers.policy import NetworkPolicy
from mainspring.worker.handlers.target import system_resolve
from mainspring.worker.handlers.transport import open_session
from tests.scenarios.handlers.receiver import calling, receiving
from tests.unit.handlers.contexts import a_context, networks

STRICT = NetworkPolicy()


class Rebinding:
    """A name server that gives another answer each time, the last one for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        assert (host, port > 0) == ("rebind.example", True)
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "①②⑦.0.0.1", "127.1", "2130706433", "0x7f000001"])
async def test_a_loopback_address_is_not_reached_however_it_is_written(host: str) -> None:
    async with receiving() as receiver, calling(network=STRICT) as webhook:
        with pytest.raises(Abandon, match="url: "):
            await webhook({"url": f"http://{host}:{receiver.port}/"}, a_context())
    assert receiver.requests == []


async def test_a_name_of_the_machine_itself_is_not_reached() -> None:
    async with receiving() as receiver, calling(network=STRICT, resolve=system_resolve) as webhook:
        for host in ("localhost", "LOCALHOST"):
            with pytest.raises(Abandon, match="is not on the public internet"):
                await webhook({"url": f"http://{host}:{receiver.port}/"}, a_context())
    assert receiver.requests == []


async def test_a_listed_network_is_reached() -> None:
    listed = NetworkPolicy(allow=networks("127.0.0.0/8"))
    async with receiving() as receiver, calling(network=listed) as webhook:
        assert (await webhook({"url": receiver.url}, a_context()))["status"] == 200


async def test_a_name_is_resolved_once_and_the_connection_goes_where_the_check_looked() -> None:
    listed = NetworkPolicy(allow=networks("127.0.0.2/32"))
    resolver = Rebinding(["127.0.0.2"], ["127.0.0.1"])
    async with (
        receiving(host="127.0.0.2") as wanted,
        receiving(port=wanted.port) as inner,
        calling(network=listed, resolve=resolver) as webhook,
    ):
        result = await webhook({"url": f"http://rebind.example:{wanted.port}/"}, a_context())
    assert result["status"] == 200
    assert (resolver.asked, len(wanted.requests), inner.requests) == (1, 1, [])
    assert wanted.requests[0].headers["Host"] == f"rebind.example:{wanted.port}"


async def test_a_name_that_turns_inwards_is_refused_by_its_new_address() -> None:
    listed = NetworkPolicy(allow=networks("127.0.0.2/32"))
    resolver = Rebinding(["127.0.0.2"], ["127.0.0.1"])
    async with (
        receiving(host="127.0.0.2") as wanted,
        receiving(port=wanted.port) as inner,
        calling(network=listed, resolve=resolver) as webhook,
    ):
        url = f"http://rebind.example:{wanted.port}/"
        await webhook({"url": url}, a_context())
        with pytest.raises(Abandon, match="is not on the public internet"):
            await webhook({"url": url}, a_context())
    assert (len(wanted.requests), inner.requests) == (1, [])


async def test_one_inner_address_among_public_ones_refuses_all() -> None:
    resolver = Rebinding(["8.8.8.8", "127.0.0.1"])
    async with receiving() as receiver, calling(network=STRICT, resolve=resolver) as webhook:
        with pytest.raises(Abandon, match="is not on the public internet"):
            await webhook({"url": f"http://rebind.example:{receiver.port}/"}, a_context())
    assert receiver.requests == []


async def test_of_several_addresses_the_one_that_answers_is_used() -> None:
    resolver = Rebinding(["127.0.0.3", "127.0.0.2"])
    async with receiving(host="127.0.0.2") as receiver, calling(resolve=resolver) as webhook:
        result = await webhook({"url": f"http://rebind.example:{receiver.port}/"}, a_context())
    assert result["status"] == 200


async def test_a_session_without_checked_addresses_connects_nowhere() -> None:
    session = open_session()
    try:
        with pytest.raises(OSError, match="no address was checked"):
            await session.get("http://localhost:1/")
    finally:
        await session.close()


async def test_a_slow_name_server_counts_against_the_timeout() -> None:
    async def silent(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        raise AssertionError(host, port)

    async with calling(resolve=silent) as webhook:
        with pytest.raises(Fail, match="no complete answer"):
            await webhook({"url": "http://slow.example/", "timeout": 50}, a_context())


async def test_over_tls_the_name_is_asked_for_and_the_certificate_is_checked(tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.pem"
    creation = await asyncio.create_subprocess_exec(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=rebind.example"),
        *("-keyout", str(certificate), "-out", str(tmp_path / "public.pem")),
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert await creation.wait() == 0
    certificate.write_bytes(certificate.read_bytes() + (tmp_path / "public.pem").read_bytes())
    asked: list[str | None] = []
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_side.load_cert_chain(certificate)
    server_side.sni_callback = lambda _socket, name, _context: asked.append(name)

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise AssertionError(reader, writer)

    server = await asyncio.start_server(never, "127.0.0.1", 0, ssl=server_side)
    async with server, calling(resolve=Rebinding(["127.0.0.1"])) as webhook:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Fail, match="certificate verify failed"):
            await webhook({"url": f"https://rebind.example:{port}/"}, a_context())
    assert asked == ["rebind.example"]
