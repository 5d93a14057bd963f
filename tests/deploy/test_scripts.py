"""What the scripts ask of Docker, which isn't there: a program in its place tells what it was asked."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY, ROOT, STACKS, services

TELLING = """#!/bin/sh
for word in "$@"; do echo "$word"; done
"""


@pytest.fixture
def telling(tmp_path: Path) -> Path:
    program = tmp_path / "docker"
    program.write_text(TELLING)
    program.chmod(0o755)
    return tmp_path


def asked(telling: Path, script: str, *arguments: str) -> list[str]:
    """The words of the one command, from whatever folder the script is called."""
    variables = {**os.environ, "PATH": f"{telling}{os.pathsep}{os.environ['PATH']}"}
    command = [str(ROOT / "scripts" / script), *arguments]
    done = subprocess.run(command, cwd=telling, env=variables, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def stack_of(words: list[str]) -> str:
    """The stack that a command is about, by its file."""
    assert words[:2] == ["compose", "--file"]
    file = Path(words[2]).resolve()
    assert file.parent.parent == DEPLOY
    return file.parent.name


def test_the_cassandra_stack_is_meant_unless_another_is_named(telling: Path) -> None:
    for script in ("start.sh", "init_schema.sh", "stop.sh"):
        assert stack_of(asked(telling, script)) == "cassandra"


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_is_started_prepared_and_stopped(telling: Path, stack: str) -> None:
    start, prepare, stop = (asked(telling, script, stack) for script in ("start.sh", "init_schema.sh", "stop.sh"))
    assert [stack_of(words) for words in (start, prepare, stop)] == [stack] * 3
    assert start[3:] == ["up", "--build", "--detach"]
    assert stop[3:] == ["--profile", "scale", "down", "--remove-orphans"]
    *_, service, command = prepare
    assert command == "migrate"
    assert service in [each.name for each in services(stack) if each.is_mainspring]


def test_data_goes_only_if_somebody_says_so(telling: Path) -> None:
    assert asked(telling, "stop.sh", "lab", "--volumes")[-1] == "--volumes"


@pytest.mark.parametrize("script", ["start.sh", "init_schema.sh", "stop.sh"])
def test_a_stack_that_is_none_is_refused(telling: Path, script: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        asked(telling, script, "nothing")
    assert refused.value.returncode == 2
    assert "no stack 'nothing'" in refused.value.stderr
