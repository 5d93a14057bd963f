"""A process that adds whole batches, one after another, until somebody kills it.

`python -m tests.integration.postgres.adding URL SEED` makes its runs by `batches`, and says the name of each batch once
it is stored.
"""

import asyncio
import sys
from collections.abc import Iterator
from itertools import count

from mainspring.adapters.postgres.add import WORTH_COPYING
from mainspring.domain.run import NewRun
from mainspring.testing.factories import Factory
from tests.integration.postgres.stores import opened

BATCH = 4 * WORTH_COPYING
"""Enough for the server to write some of it before it has heard all."""


def batches(seed: int) -> Iterator[list[NewRun]]:
    """All batches of one process: each is of one name, and large enough to be copied."""
    make = Factory(seed=seed)
    for number in count():
        yield make.runs(BATCH, name=f"{seed}-{number}")


async def add(url: str, seed: int) -> None:
    async with opened(url) as store:
        for batch in batches(seed):
            await store.work.add(batch)
            sys.stdout.write(f"{batch[0].name}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(add(sys.argv[1], int(sys.argv[2])))
