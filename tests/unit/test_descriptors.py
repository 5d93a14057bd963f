"""The limit of open descriptors is raised for us, and is the old one for what we start."""

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from mainspring import descriptors

SOFT = 300


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """This process, started with a low limit, has raised it: to what the fixture says."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(descriptors, "_original", None)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, before[1]))
    try:
        descriptors.raise_limit()
        yield descriptors.limit()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def told_by_a_program() -> int:
    """The soft limit that a program has while it runs."""
    arguments = ("sh", "-c", "read go; ulimit -n")
    process = descriptors.start(lambda: subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    return int(process.communicate(b"go\n")[0])


def test_the_soft_limit_is_raised_to_the_hard_one(raised: int) -> None:
    assert raised > SOFT
    assert descriptors.original() == SOFT
    descriptors.raise_limit()
    assert descriptors.original() == SOFT


def test_a_program_inherits_the_limit_that_we_were_started_with(raised: int) -> None:
    assert told_by_a_program() == SOFT
    assert descriptors.limit() == raised


def test_a_program_gets_it_even_while_more_descriptors_are_open_than_it_allows(raised: int) -> None:
    with ExitStack() as closing:
        for _ in range(SOFT):
            closing.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        assert told_by_a_program() == SOFT
        assert descriptors.limit() == raised


def test_a_start_that_fails_leaves_the_limit_raised(raised: int) -> None:
    with pytest.raises(FileNotFoundError):
        descriptors.start(lambda: subprocess.Popen(("/nowhere",)))
    assert descriptors.limit() == raised


def test_a_limit_that_was_not_raised_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "_original", None)
    before = descriptors.limit()
    assert told_by_a_program() == before
    descriptors.restore(None)
    assert descriptors.limit() == before
