"""`shell.command` runs one program without a shell, `shell.script` hands a script of any length to `sh`.

Payloads: `command`, `args`, `cwd`, `env`; and `script`, `cwd`, `env`, or the script alone as a string. Both streams
become the run's output, in the order they were written. The program reads nothing, sees a clean environment (PATH,
HOME and LANG of the worker, `env`, and the run's identity) and ends with the run: asked to stop it gets SIGTERM and
five seconds, at a timeout it is killed at once, and whatever it left behind in its process group is killed too.
Result: `exit_code` 0; every other way to end is a failure.
"""

import asyncio
import errno
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from mainspring.errors import exhaustion
from mainspring.ports.time import Clock
from mainspring.worker.context import Context
from mainspring.worker.flow import Abandon, Fail
from mainspring.worker.handlers.guardian import Guardian
from mainspring.worker.handlers.payload import Fields
from mainspring.worker.handlers.processes import Group, Program

GRACE = timedelta(seconds=5)
"""From SIGTERM to SIGKILL when the run is asked to stop."""

SHELL_HANDLERS = ("shell.command", "shell.script")

OFF = "shell handlers are off on {where}; MAINSPRING_ALLOW_SHELL=1 turns them on"

LONGEST_ARGUMENT = 128 * 1024 - 1
"""What Linux takes as a single argument, in bytes."""

_SHELL = "/bin/sh"
_INHERITED = ("PATH", "HOME", "LANG")
_LINES_OF_ERROR = 3
# Faults of the command itself; others may pass.
_WILL_STAY = frozenset({errno.E2BIG, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOEXEC, errno.ENOTDIR})


class Shell:
    """Both handlers; a worker has them only where the policy allows it."""

    def __init__(self, *, clock: Clock, environment: Mapping[str, str]) -> None:
        self._clock = clock
        self._inherited = {name: environment[name] for name in _INHERITED if name in environment}
        self._guardian = Guardian()

    async def command(self, payload: Any, context: Context) -> Mapping[str, int]:
        """Run one program."""
        fields = Fields(payload, "command", "args", "cwd", "env")
        arguments = (fields.text("command"), *fields.texts("args"))
        return await self._run(arguments, fields, context)

    async def script(self, payload: Any, context: Context) -> Mapping[str, int]:
        """Run a script; a long one from a file that has no name, so that nothing is left of it."""
        fields = Fields({"script": payload} if isinstance(payload, str) else payload, "script", "cwd", "env")
        script = fields.text("script").encode()
        if len(script) <= LONGEST_ARGUMENT:
            return await self._run((_SHELL, "-c", script.decode()), fields, context)
        with _temporary_file(script) as file:
            return await self._run((_SHELL, f"/dev/fd/{file.fileno()}"), fields, context, (file.fileno(),))

    def close(self) -> None:
        """Let go of what all programs shared."""
        self._guardian.close()

    async def _run(
        self, arguments: Sequence[str], fields: Fields, context: Context, descriptors: Sequence[int] = ()
    ) -> Mapping[str, int]:
        program = Program(
            arguments=arguments,
            environment={"PATH": os.defpath, **self._inherited, **_variables(fields), **_identity(context)},
            folder=_folder(fields),
            descriptors=descriptors,
        )
        group = _start(program, self._guardian, context)
        stopper = asyncio.get_running_loop().create_task(self._stop_when_asked(group, context))
        try:
            await group.wait()
        finally:
            stopper.cancel()
            status = await group.end()
        return _judge(status, group.tail, context)

    async def _stop_when_asked(self, group: Group, context: Context) -> None:
        await context.cancelled.wait()
        group.signal(signal.SIGTERM)
        await self._clock.sleep(GRACE)
        group.signal(signal.SIGKILL)


def _temporary_file(content: bytes) -> IO[bytes]:
    try:
        with ExitStack() as closing:
            file = closing.enter_context(tempfile.TemporaryFile())
            file.write(content)
            file.seek(0)
            closing.pop_all()
            return file
    except OSError as error:
        raise exhaustion(error) or error from None


def _variables(fields: Fields) -> Mapping[str, str]:
    variables = fields.mapping("env")
    for name in variables:
        if not name or "=" in name:
            raise Abandon("env: the name of a variable must not be empty or contain '='")
    return variables


def _identity(context: Context) -> Mapping[str, str]:
    traced = {} if context.traceparent is None else {"TRACEPARENT": context.traceparent}
    return {
        **traced,
        "MAINSPRING_RUN_ID": str(context.run_id),
        "MAINSPRING_JOB_ID": str(context.job_id),
        "MAINSPRING_ATTEMPT": str(context.attempt),
        "MAINSPRING_FENCE": str(context.fence),
    }


def _folder(fields: Fields) -> str | None:
    folder = fields.optional_text("cwd")
    if folder is not None and not Path(folder).is_dir():
        raise Abandon(f"cwd: there is no folder {folder!r} on this worker")
    return folder


def _start(program: Program, guardian: Guardian, context: Context) -> Group:
    command = program.arguments[0]
    try:
        return Group(program, guardian, context.print)
    except FileNotFoundError:
        raise Abandon(
            f"no such command: {command!r}; command is a single program, run without a shell; use args"
        ) from None
    except (OSError, RuntimeError) as error:
        if (lack := exhaustion(error)) is not None:
            raise lack from None
        if not isinstance(error, OSError):
            raise
        message = f"can't start {command!r}: {error.strerror}"
        raise (Abandon if error.errno in _WILL_STAY else Fail)(message) from None


def _judge(status: int, tail: str, context: Context) -> Mapping[str, int]:
    if status == 0:
        return {"exit_code": 0}
    if context.cancelled.is_set():
        # It ended because it was asked to; why it was asked, only the worker knows.
        raise asyncio.CancelledError
    lines = "\n".join(tail.splitlines()[-_LINES_OF_ERROR:]).strip()
    raise Fail(_describe(status) + (f": {lines}" if lines else ""))


def _describe(status: int) -> str:
    if status > 0:
        return f"exit code {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
