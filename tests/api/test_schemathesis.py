"""Requests made from the OpenAPI document, good, bad and in a row: no answer is a surprise to whoever reads it.

`/api/v1/events` is left out: its answer has no end, and whoever reads whole answers would wait for it. So is the making
of keys: from the first one on, everything needs one.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import NonFatalError, ScenarioFinished

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.app import create_app
from tests.api.conftest import ports_over

EVENTS = "/api/v1/events"
KEYS = "/api/v1/keys"
CONFIG = {
    "seed": 20300131,
    # Without a longest time: it would try the same again and again until that is up.
    "generation": {"max-examples": 8, "deterministic": True, "no-shrink": True, "database": "none"},
    "phases": {"stateful": {"max-steps": 4}},
    "checks": {
        # 412 is the answer to a version that isn't the job's; for 422 see `only_what_the_document_cannot_say`.
        "positive_data_acceptance": {"expected-statuses": ["2xx", "3xx", "404", "409", "412", "422"]},
        # A cancelled job is kept and shown as such: nobody's history goes with a DELETE.
        "use_after_free": {"enabled": False},
    },
    # A lock's name may have slashes, so that GET of …/renew asks for a lock that is called so.
    "operations": [{"include-path-regex": "^/api/v1/locks/", "checks": {"unsupported_method": {"enabled": False}}}],
}
UNSAYABLE = {"handler", "schedule", "timezone", "starts_at", "window", "cursor", "key", "project_id"}
"""Fields whose values can be wrong for a reason that no schema can give."""
CONTRADICTORY = {"delay_seconds", "cron_expression", "cron", "cron_schedule", "next_fire_at"}
"""Fields of the dialects that must recur, or that other fields ask for or forbid."""
SIMULATED = {"execution_time_ms", "fail_rate"}
"""Fields that belong to one handler only."""
LINKED = {"job_id"}
"""What is taken over from an earlier answer, where it can be null."""


@schemathesis.check
def only_what_the_document_cannot_say(
    _context: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    """A request that fits the document is refused for nothing that the document could have said."""
    fits = case.meta is not None and case.meta.generation.mode is schemathesis.GenerationMode.POSITIVE
    if fits and response.status_code == 422:
        problem = response.json()
        faults = [fault["field"] for fault in problem.get("errors", [problem])]
        named = {str(field).rpartition(".")[2] for field in faults}
        assert named <= UNSAYABLE | CONTRADICTORY | SIMULATED | LINKED, problem


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Opened in a loop of its own: requests are made in another."""
    store = asyncio.run(SqliteStore.open(str(tmp_path / "mainspring.db"), clock=SystemClock()))
    yield store
    asyncio.run(store.close())


@pytest.mark.long
def test_nothing_is_found_that_the_document_does_not_say(store: SqliteStore) -> None:
    app = create_app(ports_over(store), hosts=None)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=SchemathesisConfig.from_dict(CONFIG))
    found: list[str] = []
    tried = 0
    for event in from_schema(schema.exclude(path=EVENTS).exclude(path=KEYS, method="POST")).execute():
        if isinstance(event, NonFatalError):
            found.append(f"{event.label}: {event.value!r}")
        if isinstance(event, ScenarioFinished):
            tried += len(event.recorder.interactions)
            found += [
                f"{event.recorder.label}: {check.failure_info.failure}\n{check.failure_info.code_sample}"
                for checks in event.recorder.checks.values()
                for check in checks
                if check.failure_info is not None
            ]
    assert not found, "\n\n".join(found)
    assert tried > len(app.openapi()["paths"])
