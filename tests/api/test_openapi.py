"""The OpenAPI document is whole, and the page made of it needs nothing from elsewhere."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock
from uuid import UUID

import httpx
import pytest
from pydantic import BaseModel

from mainspring.api.app import create_app
from mainspring.api.openapi import TAKEN
from mainspring.api.ports import ApiPorts
from mainspring.errors import StoreUnavailable
from tests.api.calling import JOBS, Api, calling

ROOT = Path(__file__).resolve().parents[2]
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture
async def document(api: Api) -> Any:
    return (await api.ask("GET", "/openapi.json", 200)).json()


def operations(document: Any) -> list[tuple[str, str, Any]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]


async def test_the_contract_s_endpoints_are_all_there(document: Any) -> None:
    found = {f"{method.upper()} {path}" for path, method, _ in operations(document)}
    jobs, runs, dead = "/api/v1/jobs", "/api/v1/executions", "/api/v1/dead-letter"
    assert found >= {
        *(f"{method} {jobs}" for method in ("GET", "POST")),
        *(f"{method} {jobs}/{{job_id}}" for method in ("GET", "PUT", "PATCH", "DELETE")),
        *(f"POST {jobs}/{{job_id}}/{verb}" for verb in ("pause", "resume", "trigger", "cancel")),
        *(f"GET {each}" for each in (runs, f"{runs}/{{run_id}}", f"{runs}/{{run_id}}/attempts")),
        *(f"POST {runs}/{{run_id}}/{verb}" for verb in ("cancel", "retry")),
        *(f"POST {dead}/{each}" for each in ("requeue", "{run_id}/requeue", "{run_id}/discard")),
        *(f"GET /api/v1/{each}" for each in ("workers", "health", "metrics", "metrics/executions", "audit", "events")),
        *(f"POST /api/v1/locks/{{name}}/{verb}" for verb in ("acquire", "renew", "release")),
        *(f"GET {each}" for each in (dead, f"{jobs}/{{job_id}}/executions", "/api/v1/locks", "/api/v1/locks/{name}")),
        *(f"GET {each}" for each in ("/metrics", "/healthz", "/readyz")),
        f"POST {jobs}/batch",
        "POST /api/v1/schedules/preview",
    }


async def test_no_request_waits_for_a_thread(api: Api, document: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework calls plain functions in threads, which takes ten times as long as most of them."""
    in_a_thread = AsyncMock(side_effect=RuntimeError("a thread was asked for"))
    monkeypatch.setattr("anyio.to_thread.run_sync", in_a_thread)
    for path, method, _ in operations(document):
        if not path.endswith("/events"):
            await api.client.request(method, re.sub(r"\{\w+}", str(UUID(int=7)), path), json={})
    in_a_thread.assert_not_called()


async def test_every_reference_leads_somewhere(document: Any) -> None:
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert names <= set(document["components"]["schemas"])
    assert {"Job", "JobRequest", "Problem", "Execution"} <= names


async def test_every_operation_is_described(document: Any) -> None:
    seen = set()
    for path, method, operation in operations(document):
        assert operation["summary"], path
        assert operation["operationId"] not in seen
        seen.add(operation["operationId"])
        named = {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path)), path
        if path.startswith("/api/v1") and not path.endswith("/events"):
            for code in ("401", "403", "422", "429", "503"):
                assert "application/problem+json" in operation["responses"][code]["content"], (path, method, code)
            good = [code for code in operation["responses"] if code.startswith("2")]
            assert good, path


async def test_a_store_that_is_away_is_told_in_the_shape_of_health(ports: ApiPorts) -> None:
    views = AsyncMock()
    views.now.side_effect = StoreUnavailable("the disk is busy")
    async with calling(create_app(replace(ports, views=views))) as api:
        assert (await api.get("/api/v1/health", 503))["status"] == "unhealthy"


async def test_headers_are_described(document: Any) -> None:
    taken = {
        (path, method): {each["name"] for each in operation.get("parameters", []) if each["in"] == "header"}
        for path, method, operation in operations(document)
    }
    assert taken[JOBS, "post"] == {"Idempotency-Key"}
    for method in ("put", "patch", "delete"):
        assert taken[f"{JOBS}/{{job_id}}", method] == {"If-Match"}
    assert taken[f"{JOBS}/{{job_id}}", "get"] == {"If-None-Match"}
    assert taken[f"{JOBS}/{{job_id}}/trigger", "post"] == {"Idempotency-Key"}


@pytest.mark.parametrize("model", TAKEN, ids=lambda model: model.__name__)
async def test_examples_are_what_they_should_be(document: Any, model: type[BaseModel]) -> None:
    model.model_validate(document["components"]["schemas"][model.__name__]["example"])


async def test_the_example_of_a_job_is_accepted(api: Api, document: Any) -> None:
    example = document["components"]["schemas"]["JobRequest"]["example"]
    await api.post(JOBS, 201, json={**example, "handler": "test.echo"})
    assert document["components"]["schemas"]["Job"]["example"]


async def test_the_page_needs_nothing_from_elsewhere(api: Api) -> None:
    response: httpx.Response = await api.ask("GET", "/docs", 200)
    text = response.text
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert not re.findall(r"<(?:script|link|img)|src=|url\(", text)
    assert not re.findall(r'href="(?!#|/openapi.json)', text)
    for word in ("POST", "/api/v1/jobs/{job_id}/pause", "JobRequest", "If-Match"):
        assert word in text
    anchors = set(re.findall(r'id="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= anchors


WRITTEN = {
    604_800: "7 days",
    604_800_000: "7 days",
    31_536_000_000: "365 days",
    3_155_760_000: "100 years",
    86_400_000: "1 day",
    316_224_000_000: "10 years",
    2**63 - 1: "2⁶³",
}
"""Bounds that nobody would recognize as plain numbers."""


def bounds(name: str, schema: Any) -> Iterator[tuple[str, int]]:
    """The upper bounds of a field or parameter, however it is put together."""
    yield from ((name, schema[bound]) for bound in ("maxLength", "maximum", "maxItems") if bound in schema)
    for each in (*schema.get("anyOf", ()), *filter(None, [schema.get("items")])):
        yield from bounds(name, each)


def says(row: str, number: str) -> bool:
    return re.search(rf"(?<![\d,]){re.escape(number)}(?![\d,])", row) is not None


async def test_every_bound_is_in_the_document_and_on_the_page(document: Any) -> None:
    page = (ROOT / "docs" / "reference" / "http.md").read_text(encoding="utf-8")
    rows = page.partition("## Bounds")[2].partition("\n## ")[0].lower().splitlines()
    schemas = document["components"]["schemas"]
    taken = [model.__name__ for model in TAKEN] + ["RetryRequest", "MisfireRequest"]
    fields = [item for model in taken for item in schemas[model]["properties"].items()]
    fields += [
        (each["name"], each["schema"])
        for *_, operation in operations(document)
        for each in operation.get("parameters", ())
    ]
    found = {bound for name, schema in fields for bound in bounds(name, schema)}
    assert {("key", 200), ("schedule", 500), ("Idempotency-Key", 200)} <= found
    missing = [
        (name, most)
        for name, most in sorted(found)
        if not any(
            f"`{name.lower()}`" in row and re.search(rf"\b{WRITTEN.get(most, f'{most:,}')}(?!\d)", row) for row in rows
        )
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (JOBS, {"handler": "test.echo"}),
        ("/api/v1/schedules/preview", {}),
        ("/jobs", {"handler": "test.echo"}),
    ],
)
async def test_a_schedule_has_as_many_characters_as_the_document_says(api: Api, path: str, body: Any) -> None:
    longest = ",".join(["59"] * 164) + " * * * *"
    assert (await api.client.post(path, json={**body, "schedule": longest})).status_code in (200, 201)
    await api.post(path, 422, json={**body, "schedule": longest.ljust(501)})
