"""Requests that nobody means well by, sent to a whole server: it answers, logs no traceback, and works on.

`tests/api` holds each answer to the document; here they are many, in a row, and a worker executes what was accepted.
"""

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import NonFatalError, ScenarioFinished

from tests.api.hostile import JOB, MALFORMED, corpus
from tests.api.test_hostile import answered, fault
from tests.attack.conftest import Did
from tests.attack.target import ENDED, Target, attacked
from tests.scenarios.serve.processes import PATIENCE, Place, embedded

pytestmark = pytest.mark.attack

EXAMPLES = 25
STEPS = 8
AT_ONCE = 16
SEED = 20300131
STREAM = "/api/v1/events"
KEYS = "/api/v1/keys"
CONFIG = {
    "seed": SEED,
    "generation": {"max-examples": EXAMPLES, "deterministic": True, "no-shrink": True, "database": "none"},
    "phases": {"stateful": {"max-steps": STEPS}},
}
SAFE = ("--no-allow-shell", "--worker-ttl-seconds", "5")
"""Whatever the requests are about, no command is executed."""


def goes_elsewhere(case: "schemathesis.Case[Any]") -> bool:
    """Whether a request might make the worker call somebody outside: nobody is to be bothered."""
    return "webhook" in repr(case.body) or "://" in repr(case.body)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, request.getfixturevalue("postgres_url")) if request.param != "sqlite" else embedded(tmp_path)


def sequences(url: str) -> Iterator[str]:
    """Run what follows from the document; each fault, and an empty text for each request."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json", config=SchemathesisConfig.from_dict(CONFIG))

    @schema.hook
    def filter_case(_: schemathesis.HookContext, case: "schemathesis.Case[Any]") -> bool:
        return not goes_elsewhere(case)

    for event in from_schema(schema.exclude(path=STREAM).exclude(path=KEYS, method="POST")).execute():
        if isinstance(event, NonFatalError):
            yield f"{event.label}: {event.value!r}"
        if isinstance(event, ScenarioFinished):
            for interaction in event.recorder.interactions.values():
                status = interaction.response.status_code if interaction.response else 0
                yield "" if 0 < status < 500 else f"{event.recorder.label}: {status} {interaction.request.uri}"


async def assert_well(target: Target) -> None:
    """It is ready, executes what it is given, and has nothing to explain in its log."""
    assert not target.complaints(), target.complaints()[:3]
    await target.until_probed("/readyz", 200)
    job = await target.submitted(handler="test.echo", payload="still there", priority=100)
    async with asyncio.timeout(PATIENCE):
        while (found := await target.get(f"/api/v1/executions/{job}"))["status"] not in ENDED:
            await make_room(target)
    assert found["status"] == "COMPLETED"
    assert not target.complaints(), target.complaints()[:3]


async def make_room(target: Target) -> None:
    """Undo what was asked for rightly: workers that were drained, and jobs that take all day."""
    for worker in await target.everything("/api/v1/workers"):
        await target.ask("POST", f"/api/v1/workers/{worker['id']}/resume")
    for running in await target.everything("/api/v1/executions?status=RUNNING"):
        await target.ask("POST", f"/api/v1/executions/{running['id']}/cancel")


async def test_sequences_made_from_the_document_leave_a_server_as_well_as_before(place: Place, did: Did) -> None:
    async with attacked(place, *SAFE) as target:
        results = await asyncio.to_thread(lambda: list(sequences(target.url)))
        faults = [each for each in results if each]
        assert not faults, "\n".join(faults[:10])
        await assert_well(target)
        did(requests=len(results))


async def test_malformed_requests_all_at_once_leave_a_server_as_well_as_before(place: Place, did: Did) -> None:
    chance = random.Random(SEED)
    async with attacked(place, *SAFE) as target:
        job = await target.submitted(handler="test.echo", schedule="@daily")
        requests = [(name, sent.replace(JOB.encode(), job.encode())) for name, sent in corpus()]
        chance.shuffle(requests)
        slots = asyncio.Semaphore(AT_ONCE)

        async def send(name: str, sent: bytes) -> str | None:
            async with slots, asyncio.timeout(PATIENCE):
                # Half of them leave in the middle, without waiting for an answer.
                if sent not in MALFORMED and chance.random() < 0.5:
                    await left_early(target.port, sent)
                    return None
                wrong = fault(await answered(target.port, sent))
                return f"{name}: {wrong}" if wrong else None

        faults = [each for each in await asyncio.gather(*(send(*each) for each in requests)) if each]
        assert not faults, "\n".join(faults[:10])
        await assert_well(target)
        did(requests=len(requests))


async def left_early(port: int, sent: bytes) -> None:
    """Send two requests at once, take nothing, and be gone."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent.replace(b"Connection: close", b"Connection: keep-alive") + sent)
    await asyncio.sleep(0)
    writer.transport.abort()


async def test_values_that_no_machine_likes_come_back_as_they_were_or_are_refused(place: Place) -> None:
    """Numbers, texts and nesting at the edge, by every door that takes a payload, executed and read back."""
    edges = (
        "1e400",
        "-0",
        "9" * 400,
        "1.0",
        '"\\ud800"',
        '"\\u0000"',
        "[" * 60 + "]" * 60,
        '{"a":1,"a":2}',
        '"\U0001f984"',
    )
    async with attacked(place, *SAFE) as target:
        for text in edges:
            body = '{"handler":"test.echo","max_retries":0,"payload":' + text + "}"
            sent = body.encode()
            head = (
                "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close"
            )
            answer = await answered(target.port, f"{head}\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent)
            assert answer[9:12] in (b"201", b"422"), answer[:300]
            if answer[9:12] == b"201":
                found, _ = json.JSONDecoder().raw_decode(answer.partition(b"\r\n\r\n")[2].decode())
                ended = await target.ended(found["id"])
                assert ended["status"] == "COMPLETED" or "can't be stored as JSON" in ended["error"], (text[:20], ended)
                _, shown = await target.ask("GET", f"/api/v1/jobs/{found['id']}")
                assert f'"payload":{text}' in shown.replace(": ", ":"), (text[:20], shown[:400])
        await assert_well(target)
