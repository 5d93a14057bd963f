"""What can be said about the server: whether it answers, and which version it is."""

import asyncio
from collections.abc import Sequence

from mainspring.adapters.redis.address import Address
from mainspring.adapters.redis.connecting import ANSWER, REFUSALS, THEIRS, client, refused, silent
from mainspring.ports.checkup import Remark


async def examine(address: Address, subject: str) -> Sequence[Remark]:
    """Ask it once. Without it everything goes on by the store, so that nothing here endangers a job."""
    asked = client(address, "mainspring-doctor", ANSWER)
    try:
        async with asyncio.timeout(ANSWER):
            server = await asked.info("server")
    except REFUSALS as error:
        step = "until then no process that is told of it will start"
        return [Remark(subject=subject, text=str(refused(address, error)), step=step, endangers=True)]
    except THEIRS as error:
        step = "start it, or correct its URL; the store serves meanwhile"
        return [Remark(subject=subject, text=silent(address, error), step=step)]
    finally:
        await asked.aclose()
    return [Remark(subject=subject, text=f"{address.shown} answers: {_version(server)}")]


def _version(server: dict[str, object]) -> str:
    """A Valkey says which Redis it takes the place of, and then what it is."""
    if "valkey_version" in server:
        return f"Valkey {server['valkey_version']}"
    return f"Redis {server.get('redis_version', 'of an unknown version')}"
