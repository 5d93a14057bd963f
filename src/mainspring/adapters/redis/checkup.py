"""What can be said about the server: whether it answers, and which version it is."""

import asyncio
from collections.abc import Sequence

from mainspring.adapters.redis.address import Address
from mainspring.adapters.redis.broker import QUEUE, probe
from mainspring.adapters.redis.connecting import ANSWER, REFUSALS, THEIRS, client, refused, silent
from mainspring.ports.checkup import Remark

WORK = "work"


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


async def examine_queue(address: Address) -> Sequence[Remark]:
    """Ask once whether it can carry work, and how much of it waits there."""
    asked = client(address, "mainspring-doctor", ANSWER)
    try:
        async with asyncio.timeout(ANSWER):
            await probe(asked)
            waiting = await asked.zcard(QUEUE)
    except REFUSALS as error:
        step = "until then no process that is told of it will start"
        return [Remark(subject=WORK, text=str(refused(address, error)), step=step, endangers=True)]
    except THEIRS as error:
        text = f"{address.shown} can't carry work ({str(error) or type(error).__name__})"
        return [
            Remark(subject=WORK, text=text, step="start a Redis 7 or a Valkey; workers claim from the store meanwhile")
        ]
    finally:
        await asked.aclose()
    return [Remark(subject=WORK, text=f"{address.shown} carries work: {waiting} waiting in the default lane")]


def _version(server: dict[str, object]) -> str:
    """A Valkey says which Redis it takes the place of, and then what it is."""
    if "valkey_version" in server:
        return f"Valkey {server['valkey_version']}"
    return f"Redis {server.get('redis_version', 'of an unknown version')}"
