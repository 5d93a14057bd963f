from collections.abc import Iterator

import pytest

from tests.documents.pasting import Reader
from tests.documents.starting import Started, started

DOCUMENTED = (8080, 8000, 3001)
"""The ports of the documents, all answered by one process."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """`mainspring serve`, with everything in one process."""
    ports = ("--port", "0") * len(DOCUMENTED)
    with started(tmp_path_factory.mktemp("server"), "serve", *ports) as running:
        yield running


@pytest.fixture(scope="module")
def reader(server: Started) -> Iterator[Reader]:
    reader = Reader(dict(zip(DOCUMENTED, server.ports(len(DOCUMENTED)), strict=True)))
    server.lines("process.started")
    yield reader
    reader.close()
