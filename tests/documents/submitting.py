"""Submissions as S1 prints them, and what became of them."""

import json
from typing import Any
from uuid import UUID

from tests.documents.pasting import Reader, until

USER = "demo-user"


def submit(reader: Reader, user: str = USER, **fields: Any) -> str:
    """The id of a job that was submitted."""
    body = json.dumps({"project_id": "tests", "payload": "hello", **fields})
    assert "'" not in body
    line = f"curl -X POST http://localhost:8080/submit -H 'Content-Type: application/json' -H 'X-User-ID: {user}'"
    told = reader.json(f"{line} -d '{body}'", 202)
    assert told == {"job_id": told["job_id"], "status": "Submitted", "message": "Job submitted successfully"}
    return str(UUID(told["job_id"]))


def details(reader: Reader, identity: str) -> Any:
    return reader.json(f"curl http://localhost:8080/job?id={identity}", 200)


def ended(reader: Reader, identity: str) -> Any:
    return until(lambda: details(reader, identity), lambda job: job["status"] in ("completed", "failed"))
