import io

import aiohttp
import pytest
from fastapi import FastAPI

from mainspring.api.app import create_app
from mainspring.api.credentials import PUBLIC
from mainspring.api.ports import ApiPorts
from tests.api.serving import served

JOBS = "/api/v1/jobs"
ID = "01985c5e-7a53-7cc1-8f2b-3c1d5e9a0b47"
JOB = b'{"handler":"test.echo"}'
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
        ({**JSON, "Host": "attacker.example"}, 403, "foreign_host"),
        ({**JSON, "Host": "127.0.0.1.attacker.example:8080"}, 403, "foreign_host"),
        ({**JSON, "Host": "[::1"}, 403, "foreign_host"),
        ({**JSON, "Host": "attacker.example\\@localhost"}, 403, "foreign_host"),
        ({**JSON, "Host": "attacker.example@localhost"}, 403, "foreign_host"),
        ({**JSON, "Origin": "https://attacker.example"}, 403, "foreign_origin"),
        ({**JSON, "Origin": "null"}, 403, "foreign_origin"),
        ({**JSON, "Host": "localhost:1", "Origin": "http://localhost:2"}, 403, "foreign_origin"),
    ],
)
async def test_a_foreign_page_cannot_post_a_job(
    client: aiohttp.ClientSession, headers: dict[str, str], status: int, code: str
) -> None:
    async with client.post(JOBS, data=JOB, headers=headers) as response:
        assert response.status == status
        assert (await response.json(content_type=None))["error"] == code
    async with client.get(JOBS) as response:
        assert (await response.json())["items"] == []


def readable(app: FastAPI) -> list[str]:
    """Everything that can be read, in the document or not; ids stand for nothing that is there."""
    described = [path for path, methods in app.openapi()["paths"].items() if "get" in methods]
    return [
        *(path.replace("{", "").replace("}", "") for path in described),
        "/",
        "/dashboard/",
        "/docs",
        "/openapi.json",
    ]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_a_foreign_page_reads_nothing_but_what_probes_and_collectors_may(ports: ApiPorts, method: str) -> None:
    app = create_app(ports)
    async with served(app) as client:
        for path in readable(app):
            async with client.request(method, path, headers={"Host": "attacker.example:8080"}) as response:
                assert (response.status == 403) is (path not in PUBLIC), path
                if response.status == 403 and method != "HEAD":
                    refusal = await response.json(content_type=None)
                    assert refusal["error"] == "foreign_host"
                    assert "MAINSPRING_ALLOW_HOST" in refusal["detail"]


async def test_a_name_that_was_allowed_is_ours(ports: ApiPorts) -> None:
    async with served(create_app(ports, hosts=frozenset({"jobs.example.org"}))) as client:
        for host, status in (("jobs.example.org", 200), ("JOBS.example.org:443", 200), ("localhost", 403)):
            async with client.get(JOBS, headers={"Host": host}) as response:
                assert response.status == status


async def test_probes_are_answered_under_any_name(client: aiohttp.ClientSession) -> None:
    for path in ("/metrics", "/healthz", "/readyz"):
        async with client.get(path, headers={"Host": "10.1.2.3:8080"}) as response:
            assert response.status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "localhost:8080"},
        {"Host": "[::1]:8080"},
        {"Host": "LOCALHOST"},
        {"Host": "localhost:1", "Origin": "http://localhost:1"},
        {"Content-Type": "application/json; charset=utf-8"},
    ],
)
async def test_our_own_page_and_programs_can(client: aiohttp.ClientSession, headers: dict[str, str]) -> None:
    async with client.post(JOBS, data=JOB, headers={**JSON, **headers}) as response:
        assert response.status == 201


async def test_a_body_that_is_too_long_is_refused(client: aiohttp.ClientSession) -> None:
    body = io.BytesIO(b'{"handler":"test.echo","payload":"' + b"x" * 1_100_000 + b'"}')
    async with client.post(JOBS, data=body, headers=JSON) as response:
        assert response.status == 413
        assert (await response.json(content_type=None))["error"] == "too_large"


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("DELETE", JOBS, 405)])
async def test_what_does_not_exist_is_a_problem_too(
    client: aiohttp.ClientSession, method: str, path: str, status: int
) -> None:
    async with client.request(method, path) as response:
        assert response.status == status
        assert response.content_type == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", JOBS, "GET, POST"),
        ("POST", f"{JOBS}/{ID}", "DELETE, GET, PATCH, PUT"),
        ("PUT", f"{JOBS}/batch", "POST"),
        ("GET", f"{JOBS}/batch", "POST"),
        ("DELETE", "/metrics", "GET"),
    ],
)
async def test_a_method_that_is_not_allowed_is_told_which_are(
    client: aiohttp.ClientSession, method: str, path: str, allowed: str
) -> None:
    async with client.request(method, path) as response:
        assert (response.status, response.headers["Allow"]) == (405, allowed)
