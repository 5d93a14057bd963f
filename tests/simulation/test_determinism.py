"""The same seed gives the same history, whatever the process, and different seeds give different ones."""

import os
import subprocess
import sys

import pytest

from mainspring.testing.simulation.schedule import run
from mainspring.testing.simulation.storage import Store

SEEDS = (1, 2, 3, 7, 11)
PROGRAM = """
import sys
from mainspring.testing.simulation.schedule import run
from mainspring.testing.simulation.storage import Store
print(*(run(int(seed), store).digest for seed in sys.argv[1:] for store in Store))
"""


def digests_of_a_process(hash_seed: str) -> list[str]:
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, SEEDS)],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout.split()


@pytest.mark.parametrize("store", Store)
def test_a_seed_has_one_history(store: Store) -> None:
    assert run(5, store).digest == run(5, store).digest


def test_another_seed_has_another_history() -> None:
    assert run(5).digest != run(6).digest


@pytest.mark.slow
def test_processes_that_hash_differently_live_through_the_same_histories() -> None:
    digests = digests_of_a_process("1")
    assert len(set(digests)) == len(SEEDS) * len(Store)
    assert digests == digests_of_a_process("4242")


def test_the_digest_covers_every_event() -> None:
    history = run(5).history
    before = history.digest()
    history.events.pop(len(history.events) // 2)
    assert history.digest() != before
