"""Handlers whose behaviour is their payload: they succeed, fail, snooze, hang, ignore orders or kill their process."""

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

from mainspring.domain.ids import Fence, RunId
from mainspring.testing.simulation.history import Handled
from mainspring.testing.simulation.ports import SimulatedTasks
from mainspring.testing.simulation.process import Process
from mainspring.worker.context import Context
from mainspring.worker.flow import Abandon, RetryAfter, Snooze
from mainspring.worker.registry import Registry

IN_LOOP, IN_THREAD, IN_CHILD = "simulated.loop", "simulated.thread", "simulated.child"
LANES = {IN_LOOP: "default", IN_THREAD: "default", IN_CHILD: "slow"}

_SOON = timedelta(milliseconds=700)
_LEASE = timedelta(seconds=2)


class SimulatedError(Exception):
    """What a handler raises when it is told to fail."""


class Effects:
    """How often each run's handler has begun, anywhere: as an outside system would count them."""

    def __init__(self) -> None:
        self.begun: Counter[RunId] = Counter()


def registry_of(process: Process, effects: Effects) -> Registry:
    """The handlers of one worker process."""

    def say(run: RunId, fence: Fence, what: str) -> None:
        process.history.record(Handled(process.universe.time, process.label, run, fence, what))

    async def in_loop(payload: Any, context: Context) -> Any:
        effects.begun[context.run_id] += 1
        say(context.run_id, context.fence, "began")
        if payload["kills"]:
            process.crash_soon(1)
        try:
            if payload["locks"]:
                async with context.lock("resource", ttl=_LEASE, wait=_LEASE):
                    await _take(payload)
            else:
                await _take(payload)
            answer = _answer(payload, effects.begun[context.run_id])
        except asyncio.CancelledError:
            say(context.run_id, context.fence, "was broken off")
            raise
        except Exception:
            say(context.run_id, context.fence, "failed")
            raise
        say(context.run_id, context.fence, "succeeded")
        return answer

    def in_thread(payload: Any, context: Context) -> Any:
        effects.begun[context.run_id] += 1
        say(context.run_id, context.fence, "began")
        if payload["kills"]:
            process.crash()
        try:
            answer = _answer(payload, effects.begun[context.run_id])
        except Exception:
            say(context.run_id, context.fence, "failed")
            raise
        say(context.run_id, context.fence, "succeeded")
        return answer

    registry = Registry()
    registry.add(IN_LOOP, in_loop, lane=LANES[IN_LOOP])
    registry.add(IN_THREAD, in_thread, lane=LANES[IN_THREAD])
    registry.add(IN_CHILD, in_child, lane=LANES[IN_CHILD], isolate=True)
    return registry


def in_child(payload: Any) -> Any:
    """The handler of isolated runs: a child can't know how often it was called, so that it fails always or never."""
    return _answer(payload, 1)


class ObservedTasks(SimulatedTasks):
    """Sees what children do, which can't tell by themselves."""

    def __init__(self, process: Process, effects: Effects) -> None:
        super().__init__(process)
        self._observed = process
        self._effects = effects

    async def in_process(self, function: Any, arguments: Any) -> Any:
        """The same, with a word at the beginning and the end."""
        run = arguments["run"]
        run_id, fence = RunId(UUID(hex=run["run_id"])), Fence(run["fence"])

        def observed(**given: Any) -> Any:
            self._effects.begun[run_id] += 1
            self._say(run_id, fence, "began")
            answer = function(**given)
            self._say(run_id, fence, "succeeded" if "result" in answer else "failed")
            return answer

        return await super().in_process(observed, arguments)

    def _say(self, run_id: RunId, fence: Fence, what: str) -> None:
        self._observed.history.record(Handled(self._observed.universe.time, self._observed.label, run_id, fence, what))


async def _take(payload: Any) -> None:
    if not payload["stubborn"]:
        await asyncio.sleep(payload["takes"])
        return
    task = asyncio.create_task(asyncio.sleep(payload["takes"]))
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)


def _answer(payload: Any, times: int) -> Any:
    if times > payload["fails"]:
        return payload["returns"]
    match payload["as"]:
        case "abandon":
            raise Abandon("this will never work")
        case "snooze":
            raise Snooze(_SOON)
        case "later":
            raise RetryAfter(_SOON)
        case _:
            raise SimulatedError(f"attempt {times}")
