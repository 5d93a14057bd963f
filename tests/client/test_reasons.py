"""What is said where no answer comes: what a real server that isn't what the URL says makes of a request."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mainspring.client import Client
from mainspring.client.errors import Unreachable
from tests.client.conftest import QUICK

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(answer: Answering, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Host and port of a server that treats each connection like this."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


def says(data: bytes) -> Answering:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(data)
        await reader.read(65_536)
        writer.close()

    return answer


async def complaint(url: str) -> str:
    async with Client(url, retrying=QUICK) as client:
        with pytest.raises(Unreachable) as refused:
            await client.health()
        return str(refused.value)


@pytest.fixture
def certified(tmp_path: Path) -> ssl.SSLContext:
    """What a server has whose certificate nobody trusts."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=a.example"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


async def test_tls_to_a_server_without_it() -> None:
    async with listening(says(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")) as place:
        said = await complaint(f"https://{place}")
    assert f"no answer from https://{place}: it doesn't speak TLS as expected" in said
    assert "write http:// instead of https://" in said


async def test_no_tls_to_a_server_that_closes_at_once(certified: ssl.SSLContext) -> None:
    async with listening(says(b""), certified) as place:
        said = await complaint(f"http://{place}")
    assert "https://" in said


async def test_no_tls_to_a_server_that_refuses_in_tls() -> None:
    async with listening(says(b"\x15\x03\x01\x00\x02\x02\x46")) as place:
        assert "it expects TLS: write https:// instead of http://" in await complaint(f"http://{place}")


async def test_a_certificate_that_nobody_trusts(certified: ssl.SSLContext) -> None:
    async with listening(says(b""), certified) as place:
        said = await complaint(f"https://{place}")
    assert "its certificate isn't trusted: SSL_CERT_FILE" in said


async def test_a_server_of_another_protocol() -> None:
    async with listening(says(b"-ERR unknown command 'GET'\r\n\r\n")) as place:
        assert "what answers there doesn't speak HTTP: check the port" in await complaint(f"http://{place}")


async def test_a_name_that_nobody_knows() -> None:
    assert "the name of its host isn't known: check it" in await complaint("http://nowhere.invalid:8080")


async def test_a_server_that_hangs_up() -> None:
    async with listening(says(b"-ERR unknown command 'GET'\r\n")) as place:
        assert "isn't a Mainspring: try https://, or check the port" in await complaint(f"http://{place}")
