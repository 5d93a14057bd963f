import os
import resource
from pathlib import Path
from typing import Any

import pytest

from mainspring.errors import Exhausted
from mainspring.testing.factories import a_task
from mainspring.wiring.reading import check_names
from mainspring.worker.flow import Abandon, Fail
from tests.scenarios.handlers.programs import a_shell, names_in
from tests.unit.handlers.contexts import JOB, RUN, a_context, output_of


async def test_a_command_runs_without_a_shell_where_and_how_it_is_told(tmp_path: Path) -> None:
    program = "import os, sys; print(os.getcwd(), os.environ['DEBUG'], sys.argv[1:])"
    payload = {
        "command": "python3",
        "args": ["-c", program, "$HOME; *"],
        "cwd": str(tmp_path),
        "env": {"DEBUG": "1"},
    }
    context = a_context()
    with a_shell() as shell:
        assert await shell.command(payload, context) == {"exit_code": 0}
    assert output_of(context).decode() == f"{tmp_path} 1 ['$HOME; *']\n"


@pytest.mark.parametrize(
    "payload", ["echo one; echo two >&2; echo three", {"script": "echo one\necho two >&2\necho three"}]
)
async def test_a_script_runs_and_both_its_streams_become_output_in_order(payload: Any) -> None:
    context = a_context()
    with a_shell() as shell:
        assert await shell.script(payload, context) == {"exit_code": 0}
    assert output_of(context) == b"one\ntwo\nthree\n"


async def test_the_environment_is_clean() -> None:
    context = a_context()
    with a_shell() as shell:
        await shell.command({"command": "env", "env": {"A": "b=c", "MAINSPRING_FENCE": "0", "LANG": "de"}}, context)
    variables = dict(line.split("=", 1) for line in output_of(context).decode().splitlines())
    assert variables == {
        "PATH": os.environ["PATH"],
        "HOME": "/home/worker",
        "LANG": "de",
        "A": "b=c",
        "MAINSPRING_RUN_ID": str(RUN),
        "MAINSPRING_JOB_ID": str(JOB),
        "MAINSPRING_ATTEMPT": "2",
        "MAINSPRING_FENCE": "7",
    }
    check_names(environment=variables)  # so that a job may start a process of Mainspring


async def test_a_traced_program_is_told_where_its_trace_goes_on() -> None:
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    context = a_context(task=a_task(trace=traceparent))
    with a_shell() as shell:
        await shell.script("echo $TRACEPARENT", context)
    assert output_of(context).decode().strip() == traceparent


async def test_no_descriptor_of_the_worker_is_inherited() -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    context = a_context()
    try:
        with a_shell() as shell:
            await shell.script("ls /proc/$$/fd", context)
    finally:
        os.close(reader)
        os.close(writer)
    assert output_of(context).split() == [b"0", b"1", b"2"]


async def test_a_program_leads_a_session_of_its_own() -> None:
    context = a_context()
    program = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0))"
    with a_shell() as shell:
        await shell.command({"command": "python3", "args": ["-c", program]}, context)
    assert output_of(context) == b"True\n"


async def test_a_program_has_nothing_to_read() -> None:
    with a_shell() as shell:
        assert await shell.script('test -z "$(cat)"', a_context()) == {"exit_code": 0}


@pytest.mark.parametrize("size", [2418, 128 * 1024 - 1, 128 * 1024, 300 * 1024])
async def test_a_script_may_have_any_length(size: int) -> None:
    beginning, end = "read line && exit 9\n#", "\necho done"
    text = beginning + "x" * (size - len(beginning) - len(end)) + end
    context = a_context()
    with a_shell() as shell:
        await shell.script(text, context)
    assert len(text) == size
    assert output_of(context) == b"done\n"


async def test_a_long_script_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with a_shell() as shell:
        await shell.script("#" * 300_000 + f'\ntest -z "$(ls {tmp_path})"', a_context())
    assert names_in(tmp_path) == []


async def test_an_exit_code_is_a_failure_with_the_last_lines() -> None:
    with a_shell() as shell, pytest.raises(Fail) as failed:
        await shell.script("for n in 1 2 3 4; do echo line $n; done; exit 3", a_context())
    assert str(failed.value) == "exit code 3: line 2\nline 3\nline 4"


async def test_a_failure_without_output_is_short() -> None:
    with a_shell() as shell, pytest.raises(Fail) as failed:
        await shell.command({"command": "false"}, a_context())
    assert str(failed.value) == "exit code 1"


@pytest.mark.parametrize(
    ("number", "name"), [(9, "killed by SIGKILL"), (11, "killed by SIGSEGV"), (40, "killed by signal 40")]
)
async def test_a_signal_is_named(number: int, name: str) -> None:
    with a_shell() as shell, pytest.raises(Fail, match=name):
        await shell.script(f"kill -{number} $$", a_context())


async def test_binary_output_is_kept_as_it_is() -> None:
    context = a_context()
    with a_shell() as shell:
        await shell.script(r"printf '\377\000\001\n\200'", context)
    assert output_of(context) == b"\xff\x00\x01\n\x80"


async def test_much_output_is_counted_but_not_kept() -> None:
    context = a_context()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with a_shell() as shell:
        await shell.script("echo first; head -c 50000000 /dev/zero; echo; echo last", context)
    printed = context.take_printed()
    assert printed is not None
    assert printed.length == 50_000_012
    assert (printed.head[:6], printed.tail[-6:]) == (b"first\n", b"\nlast\n")
    assert len(printed.head) + len(printed.tail) <= 64 * 1024
    grown_by = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_by < 20_000, "kilobytes: the output itself has 50,000"


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"command": "no-such-program"}, "no such command: 'no-such-program'"),
        ({"command": "echo hi"}, "no such command: 'echo hi'; .* use args"),
        ({"command": "/"}, "can't start '/': Permission denied"),
        ({"command": "true", "args": ["x" * 200_000]}, "can't start 'true': Argument list too long"),
        ({"command": "true", "cwd": "/no/such/folder"}, "cwd: there is no folder '/no/such/folder'"),
        ({"command": "true", "cwd": 1}, "cwd: must be a string"),
        ({"command": "true", "env": {"A=B": "c"}}, "env: the name of a variable"),
        ({"command": "true", "env": {"": "c"}}, "env: the name of a variable"),
        ({"command": "true", "env": {"A": 1}}, "env.A: must be a string"),
        ({"command": "true", "args": "x"}, "args: must be a list of strings"),
        ({"command": "tr\0ue"}, "command: must be valid Unicode without NUL"),
        ({"args": []}, "command: is missing"),
        ({"command": "true", "shell": True}, "shell: there is no such field"),
        ("true", "payload: must be an object"),
    ],
)
async def test_what_cannot_be_run_is_not_tried_again(payload: Any, message: str) -> None:
    with a_shell() as shell, pytest.raises(Abandon, match=message):
        await shell.command(payload, a_context())


@pytest.mark.parametrize("payload", ["", {"script": ""}, {}, None])
async def test_a_script_must_be_given(payload: Any) -> None:
    with a_shell() as shell, pytest.raises(Abandon, match="script: is missing"):
        await shell.script(payload, a_context())


async def test_a_full_process_table_is_no_fault_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("mainspring.worker.handlers.processes._start", refuse)
    with a_shell() as shell, pytest.raises(Exhausted, match="Resource temporarily unavailable"):
        await shell.script("true", a_context())


async def test_descriptors_are_given_back() -> None:
    with a_shell() as shell:
        await shell.script("true", a_context())
        before = len(names_in(Path("/proc/self/fd")))
        for _ in range(5):
            await shell.script("#" * 300_000, a_context())
            with pytest.raises(Abandon):
                await shell.command({"command": "no-such-program"}, a_context())
        assert len(names_in(Path("/proc/self/fd"))) == before
