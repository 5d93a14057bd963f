"""One process answers the ports of all documents at once."""

from tests.documents.conftest import DOCUMENTED
from tests.documents.pasting import Reader
from tests.documents.test_s0 import CREATE as S0_CREATE
from tests.documents.test_s1 import HELLO as S1_HELLO
from tests.documents.test_s3 import FIRST as S3_FIRST
from tests.documents.test_s4 import CREATE as S4_CREATE


def test_every_document_s_first_command_works_on_its_port_and_all_share_a_store(reader: Reader) -> None:
    made = [
        reader.json(S0_CREATE, 201)["job_id"],
        reader.json(S1_HELLO, 202)["job_id"],
        reader.json(S3_FIRST, 201)["id"],
        reader.json(S4_CREATE, 201)["id"],
    ]
    for port in DOCUMENTED:
        listed = reader.json(f"curl http://localhost:{port}/api/v1/jobs", 200)["items"]
        assert [job["id"] for job in listed] == made[::-1]
        for identity in made:
            assert reader.json(f"curl http://localhost:{port}/jobs/{identity}", 200)["id"] == identity
