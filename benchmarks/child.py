"""The inside of a child process: obeys one JSON command per line on stdin, answers one line each."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.contender import HoldsSessions, Job, Performer, Place

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def serve(performer: Performer) -> None:
    """Run `(worker | client) --folder FOLDER` for *performer* until stdin ends or `quit` arrives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["worker", "client"])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--url", default="")
    parser.add_argument("--process", type=int, default=0)
    options = parser.parse_args()
    # Answers keep the real stdout to themselves: whatever a library prints goes to stderr.
    answers = os.dup(1)
    os.dup2(2, 1)
    place = Place(folder=options.folder, url=options.url, process=options.process)
    _answer(answers, _timed(performer.open, place))
    _obey(performer, answers)
    performer.close()


def _obey(performer: Performer, answers: int) -> None:
    commands: dict[str, Callable[..., dict[str, Any]]] = {
        "work": lambda: _timed(performer.work),
        "add": lambda **job: _timed(performer.add, *_jobs(count=1, **job)),
        "add_each": lambda callers, **jobs: _timed(performer.add_each, _jobs(**jobs), callers),
        "add_all": lambda **jobs: _timed(performer.add_all, _jobs(**jobs)),
    }
    if isinstance(performer, HoldsSessions):
        commands["hold_sessions"] = lambda count: _timed(performer.hold_sessions, count)
    for line in sys.stdin:
        command = json.loads(line)
        verb = command.pop("do")
        if verb == "quit":
            return
        _answer(answers, commands[verb](**command))


def _jobs(*, first: int, count: int, due_ns: int | None = None, spacing_ns: int = 0, priorities: int = 1) -> list[Job]:
    return [
        Job(
            number=first + index,
            due_at=None if due_ns is None else _instant(due_ns + index * spacing_ns),
            priority=index % priorities,
        )
        for index in range(count)
    ]


def _instant(moment_ns: int) -> datetime:
    return EPOCH + timedelta(microseconds=moment_ns // 1000)


def _timed(call: Callable[..., int | None], *arguments: object) -> dict[str, Any]:
    before_ns = time.time_ns()
    called_ns = call(*arguments)
    return {"called_ns": called_ns or before_ns, "returned_ns": time.time_ns()}


def _answer(descriptor: int, answer: dict[str, Any]) -> None:
    os.write(descriptor, json.dumps(answer).encode() + b"\n")
