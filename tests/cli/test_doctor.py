import os
import re
import shutil
import socket
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mainspring.cli import local_checks
from mainspring.cli.cluster_checks import _clock, _workers
from mainspring.cli.findings import Level
from mainspring.wiring.settings import Settings
from servers.ports import free_port
from servers.valkey import ValkeyServer
from tests.cli.commands import Command, serving


def levels(command: Command, *flags: str, code: int = 0) -> dict[str, tuple[str, str]]:
    said = command("doctor", "--port", "0", *flags, "--json", code=code)
    return {line["check"]: (line["level"], f"{line['detail']}; {line['next']}") for line in said.lines()}


def test_a_store_that_nobody_made_is_a_warning_and_stays_unmade(command: Command, tmp_path: Path) -> None:
    found = levels(command, "--data", "nowhere")
    assert found["store"][0] == "warn"
    assert "mainspring migrate" in found["store"][1]
    assert not (tmp_path / "nowhere").exists()


def test_a_store_without_processes_is_told_how_to_get_them(on_store: Command) -> None:
    found = levels(on_store)
    assert found["store"][0] == "ok"
    assert found["workers"][0] == found["schedulers"][0] == "warn"
    assert "'mainspring worker'" in found["workers"][1]


def test_a_healthy_server_has_nothing_but_ok(on_server: Command) -> None:
    said = on_server("doctor")
    assert {line.split()[0] for line in said.out.splitlines()} == {"ok"}
    assert "slots are busy" in said.out


def test_handlers_that_nobody_ever_had_are_named(on_store: Command) -> None:
    on_store("job", "add", "never.seen", "--allow-unknown-handler", "--schedule", "in 1h")
    assert "never.seen" in levels(on_store)["handlers"][1]


def test_built_in_handlers_that_every_worker_had_switched_off_are_named(on_store: Command) -> None:
    for handler in ("shell.command", "test.echo"):
        on_store("job", "add", handler, "--schedule", "in 1h")
    level, said = levels(on_store)["handlers"]
    assert (level, "jobs need shell.command, which" in said, "--allow-shell" in said) == ("warn", True, True)


def test_lanes_that_nobody_serves_are_named(command: Command, tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        on_server = command.on("--url", url)
        on_server("job", "add", "test.echo", "--lane", "lonely", "--schedule", "in 1h")
        said = on_server("doctor").out
    [line] = [line for line in said.splitlines() if " lanes: " in line]
    assert line.startswith("warn")
    assert "'lonely'" in line


def test_a_file_that_is_no_store_fails(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mainspring.db").write_text("this is a letter " * 1000)
    level, text = levels(command, "--data", str(tmp_path), code=1)["store"]
    assert level == "fail"
    assert "mainspring.db" in text


def test_a_port_that_something_else_uses_fails(on_store: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = on_store("doctor", "--port", port, code=1)
    assert f"fail  port {port}: something else uses it on 127.0.0.1; choose another with --port" in said.out


def test_a_port_that_we_use_is_well(on_store: Command, server_url: str) -> None:
    port = server_url.rpartition(":")[2]
    assert f"ok    port {port}: a Mainspring answers" in on_store("doctor", "--port", port).out


def test_an_address_that_others_reach_fails_without_keys(on_store: Command) -> None:
    found = levels(on_store, "--host", "0.0.0.0", code=1)  # noqa: S104 - that is the point
    assert found["access"][0] == "fail"


def test_a_redis_is_asked_who_it_is(on_store: Command, redis_url: str) -> None:
    level, text = levels(on_store, "--signals", redis_url, "--members", redis_url)["signals, members"]
    assert level == "ok"
    assert re.search(r"redis://127\.0\.0\.1:\d+/0 answers: (Redis|Valkey) \d", text)


def test_without_a_redis_nobody_speaks_of_one(on_store: Command) -> None:
    assert not {"signals", "members"} & levels(on_store).keys()


def test_a_redis_that_is_away_is_a_warning_because_the_store_serves(on_store: Command) -> None:
    found = levels(on_store, "--signals", f"redis://127.0.0.1:{free_port()}")
    assert found["signals"][0] == "warn"
    assert "doesn't answer" in found["signals"][1]
    assert found["store"][0] == "ok"


def test_a_redis_that_refuses_the_password_fails(on_store: Command, redis_url: str) -> None:
    found = levels(on_store, "--signals", redis_url.replace("redis://:", "redis://:wrong"), code=1)
    assert found["signals"][0] == "fail"
    assert "check user and password" in found["signals"][1]
    assert "wrong" not in found["signals"][1]


def test_a_url_of_no_redis_fails(on_store: Command) -> None:
    found = levels(on_store, "--signals", "redis://host/first", code=1)
    assert found["coordination"][0] == "fail"
    assert "redis://host:6379/0" in found["coordination"][1]


def test_a_server_tells_what_stands_beside_its_store(
    command: Command, tmp_path: Path, valkey_server: ValkeyServer
) -> None:
    url, shown = valkey_server.url(), f"redis://127.0.0.1:{valkey_server.port}/0"
    with serving(tmp_path, "--signals", url, "--members", url) as server:

        def until_told(level: str) -> str:
            """What is said once it is on this *level*: the server asks now and then."""
            while (said := levels(command, "--url", server)["signals, members"])[0] != level:
                time.sleep(0.05)
            return said[1]

        assert until_told("ok").startswith(f"{shown} answers")
        valkey_server.kill()
        assert until_told("warn").startswith(f"{shown} doesn't answer")
        valkey_server.start()
        until_told("ok")


def test_a_folder_that_is_a_file_fails(command: Command, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    found = levels(command, "--data", "data", code=1)
    assert found["data folder"][0] == "fail"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_can_not_be_written_fails(command: Command, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o500)
    assert levels(command, "--data", "data", code=1)["data folder"][0] == "fail"


@pytest.mark.parametrize(("free", "level"), [(10**12, Level.OK), (10**8, Level.WARN), (10**6, Level.FAIL)])
def test_space_runs_out_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
    found = {finding.subject: finding.level for finding in local_checks.checked(Settings(data=tmp_path, ports=()))}
    assert found["space"] is level


def test_clocks_that_differ_are_told() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert _clock({"database": {"time": "2030-01-01T00:00:01Z"}}, now).level is Level.OK
    wrong = _clock({"database": {"time": "2030-01-01T00:00:09Z"}}, now + timedelta(seconds=1))
    assert wrong.level is Level.WARN
    assert "-8.0 s" in wrong.text
    drained = _workers([{"id": "w", "status": "drained", "executing": 0, "capacity": 1}])
    assert (drained.level, "worker resume w" in str(drained)) == (Level.WARN, True)
    assert _workers([{"id": "w", "clock_skew_ms": 5000, "executing": 0, "capacity": 1}]).level is Level.WARN


def test_a_server_that_is_away_is_told_at_once(command: Command) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        command("doctor", "--url", f"http://127.0.0.1:{bound.getsockname()[1]}", code=6)


@pytest.mark.parametrize("way", ["environment", "dotenv"])
def test_the_server_that_other_commands_talk_to_is_asked(
    command: Command, server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "environment":
        monkeypatch.setenv("MAINSPRING_URL", server_url)
    else:
        (tmp_path / ".env").write_text(f"MAINSPRING_URL={server_url}\n")
    found = levels(command)
    assert found["server"] == ("ok", f"{server_url}; ")
    assert found["health"][0] == "ok"
    assert "store" not in found


def test_a_store_that_is_named_is_asked_before_the_server_of_the_environment(
    on_store: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_URL", "http://127.0.0.1:1")
    assert levels(on_store)["store"][0] == "ok"
    said = on_store("doctor", "--url", "http://127.0.0.1:1", code=2)
    assert "give one of them" in said.err
