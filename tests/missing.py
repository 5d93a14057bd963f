"""What becomes of a test without what it needs: skipped on a user's machine, failed where all must be tested."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest

from servers.process import NotInstalled


def do_without(missing: str) -> NoReturn:
    """Skip the test and say what is missing; a build machine must have it."""
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


@contextmanager
def needing_a_program() -> Iterator[None]:
    """A block that needs a program to be installed."""
    try:
        yield
    except NotInstalled as missing:
        do_without(str(missing))
