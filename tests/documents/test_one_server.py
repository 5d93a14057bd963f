"""One process answers the ports of all documents at once, on every store; servers are named as S4 does."""

from pathlib import Path

import pytest

from tests.documents.conftest import DOCUMENTED
from tests.documents.pasting import Reader, until
from tests.documents.starting import started
from tests.documents.test_s0 import CREATE as S0_CREATE
from tests.documents.test_s0 import RUN as S0_RUN
from tests.documents.test_s1 import HELLO as S1_HELLO
from tests.documents.test_s3 import FIRST as S3_FIRST
from tests.documents.test_s4 import CREATE as S4_CREATE

STORES = {"sqlite": None, "postgresql": "postgres_url", "cassandra": "cassandra_url"}
"""The fixtures that know where each is; the embedded one is in the folder."""


@pytest.mark.parametrize("store", STORES)
def test_every_document_s_first_command_works_on_its_port_and_all_share_a_store(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """S0-01; S4-66."""
    fixture = STORES[store]
    variables = {} if fixture is None else {"DATABASE_URL": request.getfixturevalue(fixture)}
    with started(tmp_path, "serve", *("--port", "0") * len(DOCUMENTED), **variables) as server:
        reader = Reader(dict(zip(DOCUMENTED, server.ports(len(DOCUMENTED)), strict=True)))
        made = [
            reader.json(S0_CREATE, 201)["job_id"],
            reader.json(S1_HELLO, 202)["job_id"],
            reader.json(S3_FIRST, 201)["id"],
            reader.json(S4_CREATE, 201)["id"],
        ]
        reader.json(S0_RUN.format(made[0]), 202)
        for port in DOCUMENTED:
            listed = reader.json(f"curl http://localhost:{port}/api/v1/jobs", 200)["items"]
            assert [job["id"] for job in listed] == made[::-1]
            for identity in made:
                assert reader.json(f"curl http://localhost:{port}/jobs/{identity}", 200)["id"] == identity
        counts = until(
            lambda: reader.json("curl -s http://localhost:8000/stats", 200), lambda stats: not stats["queue_length"]
        )["jobs_by_status"]
        assert counts["pending"] + counts["running"] + counts["completed"] == len(made)
        until(
            lambda: reader.json("curl -s http://localhost:8000/stats", 200)["jobs_by_status"],
            lambda counts: (counts["completed"], counts["pending"]) == (3, 1),
        )
        reader.close()
