from ipaddress import ip_network
from pathlib import Path

import pytest

from mainspring.api.access import LOOPBACK_NAMES, GivenKey
from mainspring.errors import ConfigurationError
from mainspring.wiring.apps import load_apps, merge
from mainspring.wiring.builtin import policy
from mainspring.wiring.network import access_of, check_host, is_loopback, own_names
from mainspring.wiring.reception import connections_within
from mainspring.wiring.roles import open_journal
from mainspring.wiring.settings import Settings
from mainspring.worker.registry import DEFAULT, Registry

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what must be refused


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LocalHost"])
def test_loopback_needs_no_permission(host: str) -> None:
    assert is_loopback(host)
    check_host(Settings(host=host))


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "10.0.0.1", "example.org", ""])
def test_every_other_host_must_be_asked_for(host: str) -> None:
    with pytest.raises(ConfigurationError, match="MAINSPRING_TRUST_NETWORK=1"):
        check_host(Settings(host=host))
    check_host(Settings(host=host, trust_network=True))
    check_host(Settings(host=host), keyed=True)
    check_host(Settings(host=host, api_keys=(GivenKey("ann", "a key of somebody"),)))


def test_only_loopback_and_trusted_networks_are_open_without_keys() -> None:
    assert access_of(Settings()).open_without_keys
    assert not access_of(Settings(host=EVERYWHERE)).open_without_keys
    assert access_of(Settings(host=EVERYWHERE, trust_network=True)).open_without_keys


def test_foreign_names_are_refused_where_a_web_page_could_use_them() -> None:
    assert own_names(Settings()) == LOOPBACK_NAMES
    assert own_names(Settings(host="127.0.0.2")) == LOOPBACK_NAMES | {"127.0.0.2"}
    assert own_names(Settings(host=EVERYWHERE)) is None
    assert own_names(Settings(trust_network=True)) is None


def test_names_that_are_allowed_are_the_only_ones_beside_our_own() -> None:
    names = ("jobs.example.org",)
    assert own_names(Settings(allow_hosts=names)) == LOOPBACK_NAMES | {*names}
    assert own_names(Settings(allow_hosts=names, trust_network=True)) == LOOPBACK_NAMES | {*names}
    assert own_names(Settings(host=EVERYWHERE, allow_hosts=names)) == LOOPBACK_NAMES | {EVERYWHERE, *names}


@pytest.mark.parametrize(
    ("limit", "slots", "asked", "most"),
    [
        (150, 32, 0, 30),
        (1024, 32, 0, 832),
        (1024, 0, 0, 960),
        (20_000, 32, 0, 10_000),
        (4096, 1000, 0, 819),
        (1_000_000, 10, 0, 10_000),
        (150, 32, 5000, 30),
        (1024, 32, 100, 100),
        (1_000_000, 10, 50_000, 50_000),
    ],
)
def test_connections_leave_descriptors_to_the_worker(limit: int, slots: int, asked: int, most: int) -> None:
    assert connections_within(limit, slots, asked) == most


def test_shell_and_private_webhooks_work_where_only_this_machine_can_ask_for_them() -> None:
    assert policy(Settings()).shell is True
    assert policy(Settings(host=EVERYWHERE)).shell is False
    assert policy(Settings(host=EVERYWHERE)).network.trusted is False
    assert policy(Settings(host=EVERYWHERE, trust_network=True)).shell is True


def test_a_store_that_others_share_makes_nobody_trusted() -> None:
    shared = Settings(store="postgresql://db/x")
    assert (policy(shared).shell, policy(shared).network.trusted) == (False, False)
    network = ip_network("10.0.0.0/8")
    allowed = policy(Settings(store="postgresql://db/x", allow_shell=True, webhook_allow=(network,)))
    assert (allowed.shell, allowed.network.trusted, allowed.network.allow) == (True, False, (network,))


def test_a_worker_without_a_name_takes_the_first_that_is_free(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, worker_name="host")
    opened = [open_journal(settings, "0" * 32) for _ in range(3)]
    assert [name for name, _ in opened] == ["host", "host-2", "host-3"]
    opened[1][1].close()
    name, journal = open_journal(settings, "0" * 32)
    assert name == "host-2"
    for each in (opened[0][1], opened[2][1], journal):
        each.close()


def test_a_name_that_was_given_is_used_or_refused(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, worker_name="mine", origins={"worker_name": "--worker-name"})
    name, journal = open_journal(settings, "0" * 32)
    assert name == "mine"
    with pytest.raises(ConfigurationError, match="a name of its own"):
        open_journal(settings, "0" * 32)
    journal.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["kept"])
    return tmp_path


def test_handlers_come_from_modules_in_the_current_folder(folder: Path) -> None:
    (folder / "app_one.py").write_text("from mainspring.worker.registry import Registry\nmine = Registry()\n")
    default, own = (each.registry for each in load_apps(["app_one:mine"]))
    assert default is DEFAULT
    own.add("mine.echo", lambda payload: payload, lane="mine")
    into = Registry()
    merge(into, [own, own])
    assert into.names() == {"mine.echo": "mine"}


@pytest.mark.parametrize(
    ("app", "text", "message"),
    [
        ("app_two:missing", "", "isn't a Registry"),
        ("app_three", "1/0", "ZeroDivisionError"),
        ("app_four", "import no_such_library", "no_such_library"),
    ],
)
def test_a_module_that_cannot_be_used_is_named(folder: Path, app: str, text: str, message: str) -> None:
    (folder / f"{app.partition(':')[0]}.py").write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        load_apps([app])


def test_two_handlers_of_one_name_are_refused() -> None:
    first, second = Registry(), Registry()
    for registry in (first, second):
        registry.add("same", lambda payload: payload)
    with pytest.raises(ConfigurationError, match="registered twice"):
        merge(Registry(), [first, second])
