"""A page whose name was made to resolve to this machine reads nothing of an open scheduler, by whatever route."""

import re
from pathlib import Path

from tests.attack.conftest import Did
from tests.attack.holder import answer_to
from tests.attack.target import JOBS, PROBES, Target, attacked
from tests.scenarios.serve.processes import embedded

BESIDE_THE_DOCUMENT = ("/", "/dashboard/", "/dashboard/app.js", "/docs", "/openapi.json", "/nowhere")
FOREIGN = ("evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "127.0.0.1.evil.example")
ODD = ("", "localhost@evil.example", "evil.example\\@localhost", "[::1", "0", "localhost,evil.example")
OWN = ("localhost", "localhost:{port}", "127.0.0.1:{port}", "LOCALHOST:{port}", "[::1]:{port}")
TRICKS = (
    "GET /api/v1/jobs HTTP/1.0",
    "GET /api/v1/jobs HTTP/1.1\r\nHost: evil.example\r\nHost: localhost",
    "GET http://evil.example/api/v1/jobs HTTP/1.1\r\nHost: evil.example",
    "GET /api/v1/jobs HTTP/1.1\r\nX-Forwarded-Host: localhost\r\nHost: evil.example",
)
PRIVATE = "confidential-payload"


async def routes(target: Target, job: str) -> list[str]:
    """Every path that can be read, with the ids of things that are there."""
    document = await target.get("/openapi.json")
    filled = [
        re.sub(r"\{(\w+)\}", lambda match: "printer" if match[1] == "name" else job, path)
        for path, methods in document["paths"].items()
        if "get" in methods
    ]
    assert len(filled) > 20
    return [*filled, *BESIDE_THE_DOCUMENT]


async def test_no_route_is_read_under_a_foreign_name_but_the_probes(tmp_path: Path, did: Did) -> None:
    async with attacked(embedded(tmp_path)) as target:
        job = await target.submitted(handler="test.echo", payload=PRIVATE, name=PRIVATE)
        await target.ended(job)
        await target.post("/api/v1/locks/printer/acquire", {"holder": PRIVATE, "ttl_ms": 60_000})
        read = []
        for path in await routes(target, job):
            for host in (name.format(port=target.port) for name in FOREIGN):
                for method in ("GET", "HEAD"):
                    status, text = await target.ask(method, path, Host=host, X_User_ID="default")
                    allowed = status in (200, 405) if path in PROBES else status == 403
                    if not allowed or PRIVATE in text:
                        read.append(f"{method} {path} as {host}: {status} {text[:80]}")
        assert not read, "\n".join(read[:10])
        did(requests=target.requests)


async def test_our_own_names_are_answered_and_no_trick_makes_another_one_ours(tmp_path: Path, did: Did) -> None:
    async with attacked(embedded(tmp_path), role="api") as target:
        for host in OWN:
            status, text = await target.ask("GET", JOBS, Host=host.format(port=target.port))
            assert status == 200, (host, text)
        for host in ODD:
            status, _ = await target.ask("GET", JOBS, Host=host)
            assert status in (400, 403), host
        for lines in TRICKS:
            answer = await answer_to(target.port, f"{lines}\r\nConnection: close\r\n\r\n".encode())
            assert answer[9:12] in (b"400", b"403"), (lines, answer[:200])
        did(requests=target.requests + len(TRICKS))
