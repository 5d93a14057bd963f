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

from benchmarks.contender import Contender, Job

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def serve(contender: Contender) -> None:
    """Run `(worker | client) --folder FOLDER` for *contender* until stdin ends or `quit` arrives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["worker", "client"])
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    # Answers keep the real stdout to themselves: whatever a library prints goes to stderr.
    answers = os.dup(1)
    os.dup2(2, 1)
    _answer(answers, _timed(contender.open, options.folder))
    _obey(contender, answers)
    contender.close()


def _obey(contender: Contender, answers: int) -> None:
    commands: dict[str, Callable[..., dict[str, Any]]] = {
        "work": lambda: _timed(contender.work),
        "add": lambda **job: _timed(contender.add, *_jobs(count=1, **job)),
        "add_each": lambda callers, **jobs: _timed(contender.add_each, _jobs(**jobs), callers),
        "add_all": lambda **jobs: _timed(contender.add_all, _jobs(**jobs)),
    }
    for line in sys.stdin:
        command = json.loads(line)
        verb = command.pop("do")
        if verb == "quit":
            return
        _answer(answers, commands[verb](**command))


def _jobs(*, first: int, count: int, due_ns: int | None = None, spacing_ns: int = 0) -> list[Job]:
    if due_ns is None:
        return [Job(number=first + index) for index in range(count)]
    moments = (due_ns + index * spacing_ns for index in range(count))
    return [
        Job(number=first + index, due_at=EPOCH + timedelta(microseconds=moment // 1000))
        for index, moment in enumerate(moments)
    ]


def _timed(call: Callable[..., None], *arguments: object) -> dict[str, Any]:
    called_ns = time.time_ns()
    call(*arguments)
    return {"called_ns": called_ns, "returned_ns": time.time_ns()}


def _answer(descriptor: int, answer: dict[str, Any]) -> None:
    os.write(descriptor, json.dumps(answer).encode() + b"\n")
