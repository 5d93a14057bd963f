from collections import Counter
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from mainspring.api.access import GivenKey
from mainspring.errors import ConfigurationError
from mainspring.wiring.dotenv import read_dotenv
from mainspring.wiring.reading import check_names, read_settings
from mainspring.wiring.setting import PREFIX, Setting, settings_of
from mainspring.wiring.settings import Settings

TABLE = settings_of(Settings)


def read(*, dotenv: dict[str, str] | None = None, flags: dict[str, str] | None = None, **environment: str) -> Settings:
    return read_settings(flags=flags or {}, environment=environment, dotenv=dotenv)


def test_without_anything_every_setting_has_its_default() -> None:
    settings = read()
    assert settings == Settings()
    assert not settings.given("ports")
    assert settings.store_url == "sqlite:///data/mainspring.db"
    assert settings.worker_name


def test_flags_win_over_the_environment_that_over_dotenv_and_that_over_defaults() -> None:
    sources: dict[str, Any] = {"flags": {"ports": "1"}, "MAINSPRING_PORT": "2", "dotenv": {"MAINSPRING_PORT": "3"}}
    expected = [((1,), "--port"), ((2,), "MAINSPRING_PORT"), ((3,), "MAINSPRING_PORT in .env"), ((8080,), None)]
    for value, origin in expected:
        settings = read(**sources)
        assert (settings.ports, settings.origins.get("ports")) == (value, origin)
        if sources:
            sources.pop(next(iter(sources)))


def test_the_own_variable_wins_over_its_aliases() -> None:
    assert read(MAX_CONCURRENT_JOBS="7").concurrency == 7
    assert read(WORKER_MAX_IN_PROGRESS="8", MAX_CONCURRENT_JOBS="7", MAINSPRING_CONCURRENCY="6").concurrency == 6


def test_an_alias_is_read_in_its_own_unit() -> None:
    assert read(VISIBILITY_TIMEOUT_MS="3000").worker_ttl == timedelta(seconds=3)
    assert read(MAINSPRING_WORKER_TTL_SECONDS="3").worker_ttl == timedelta(seconds=3)


DOCUMENTED: dict[str, tuple[str, str, Any]] = {
    "WORKER_MAX_ATTEMPTS": ("5", "max_attempts", 5),
    "WORKER_BACKOFF_BASE_MS": ("100", "backoff_base", timedelta(milliseconds=100)),
    "WORKER_BACKOFF_MAX_MS": ("2000", "backoff_max", timedelta(seconds=2)),
    "WORKER_MAX_IN_PROGRESS": ("2", "concurrency", 2),
    "PORT": ("9999", "ports", (9999,)),
    "DATABASE_URL": ("postgresql://db/x", "store", "postgresql://db/x"),
    "SCYLLA_HOSTS": ("one, two:9043", "store", "scylla://one,two:9043/scheduler"),
    "REDIS_URL": ("redis://cache:6379/1", "members", "redis://cache:6379/1"),
    "SCHEDULER_INSTANCE_ID": ("scheduler-1", "scheduler_name", "scheduler-1"),
    "LEADER_LOCK_TTL": ("30", "scheduler_ttl", timedelta(seconds=30)),
    "SCAN_INTERVAL_MS": ("1500", "scan_interval", timedelta(seconds=1.5)),
    "WORKER_ID": ("worker-1", "worker_name", "worker-1"),
    "MAX_CONCURRENT_JOBS": ("5", "concurrency", 5),
    "VISIBILITY_TIMEOUT_MS": ("300000", "worker_ttl", timedelta(minutes=5)),
}
"""Variables of the five documents."""


@pytest.mark.parametrize("variable", DOCUMENTED)
def test_each_documented_variable_means_a_setting(variable: str) -> None:
    text, name, value = DOCUMENTED[variable]
    for settings, origin in (
        (read_settings(flags={}, environment={variable: text}), variable),
        (read(dotenv={variable: text}), f"{variable} in .env"),
    ):
        assert (getattr(settings, name), settings.origins[name]) == (value, origin)


def test_one_url_of_redis_means_both_wake_ups_and_the_lead_unless_one_is_said_otherwise() -> None:
    """S4-67."""
    settings = read(REDIS_URL="rediss://cache/1", MAINSPRING_SIGNALS="Store")
    assert (settings.signals, settings.members) == ("store", "rediss://cache/1")
    assert read(REDIS_URL="redis://cache").signals == "redis://cache"
    alone = settings.by_store_alone()
    assert (alone.signals, alone.members) == ("store", "store")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("drain", "0.25"),
        ("drain", "1234567.5"),
        ("retention", "1.5"),
        ("ports", "8080,8000"),
        ("allow_shell", "1"),
        ("data", "some/folder"),
        ("webhook_allow", "10.0.0.0/8,::1/128"),
    ],
)
def test_values_are_shown_as_one_would_write_them(name: str, text: str) -> None:
    shown = {known: value for known, value, _ in read(flags={name: text}).shown()}
    assert shown[name] == text


def test_an_empty_variable_is_not_set() -> None:
    assert read(PORT="").ports == (8080,)


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("PORT", "80a", "PORT is '80a', but must be a whole number from 0 to 65535"),
        ("PORT", "8080,65536", "PORT is '8080,65536', but must be"),
        (
            "MAINSPRING_DRAIN_SECONDS",
            "-1",
            "MAINSPRING_DRAIN_SECONDS is '-1', but must be a positive number of seconds",
        ),
        ("MAINSPRING_DRAIN_SECONDS", "nan", "positive number"),
        ("MAINSPRING_DRAIN_SECONDS", "1e300", "positive number"),
        ("MAINSPRING_ALLOW_SHELL", "maybe", "must be 1 or 0"),
        ("MAINSPRING_LOG_FORMAT", "xml", "one of auto, console, json"),
        ("MAINSPRING_WEBHOOK_ALLOW", "10.0.0.0/99", "a network like"),
        ("MAINSPRING_WORKER_NAME", "a/b", "letters, digits"),
        ("MAINSPRING_STORE", "  ", "a text that isn't empty"),
        ("MAINSPRING_MEMBERS", "postgresql://db/x", "store, or a URL like redis://host:6379/0"),
    ],
)
def test_a_bad_value_is_an_error_that_names_the_variable_and_the_form(variable: str, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_settings(flags={}, environment={variable: text})


def test_an_error_names_the_flag_or_the_file_that_it_came_from() -> None:
    with pytest.raises(ConfigurationError, match="--port is 'x'"):
        read(flags={"ports": "x"})
    with pytest.raises(ConfigurationError, match=r"PORT in \.env is 'x'"):
        read(dotenv={"PORT": "x"})


def test_secrets_are_shown_to_nobody() -> None:
    word = "hunter2"
    settings = read(MAINSPRING_WEBHOOK_SECRET=word, MAINSPRING_STORE=f"postgresql://me:{word}@db/x")
    assert word not in repr(settings)
    assert "postgresql://me:***@db/x" in repr(settings)
    assert settings.webhook_secret == word


def test_the_password_of_a_url_that_is_refused_is_not_shown() -> None:
    with pytest.raises(ConfigurationError, match=r"REDIS_URL is 'redsi://:\*\*\*@cache'") as refused:
        read(REDIS_URL="redsi://:hunter2@cache")
    assert "hunter2" not in str(refused.value)


def test_several_values_are_separated_by_commas() -> None:
    settings = read(MAINSPRING_WEBHOOK_ALLOW="10.0.0.0/8, ::1/128", MAINSPRING_APP="a,b:c", PORT="1,2")
    assert settings.webhook_allow == (ip_network("10.0.0.0/8"), ip_network("::1/128"))
    assert (settings.apps, settings.ports) == (("a", "b:c"), (1, 2))


@pytest.mark.parametrize("text", ["1", "true", "YES", "on"])
def test_switches_understand_the_usual_words(text: str) -> None:
    assert read(MAINSPRING_TRUST_NETWORK=text).trust_network is True
    assert read(MAINSPRING_TRUST_NETWORK="no").trust_network is False


def test_names_of_hosts_have_no_port() -> None:
    allowed = read(MAINSPRING_ALLOW_HOST="Jobs.Example.org, 10.1.2.3,[::2]").allow_hosts
    assert allowed == ("jobs.example.org", "10.1.2.3", "::2")


@pytest.mark.parametrize("text", ["jobs.example.org:443", "https://jobs.example.org", "a/b", "a b", "me@host", "::2"])
def test_what_is_no_name_of_a_host_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="MAINSPRING_ALLOW_HOST"):
        read(MAINSPRING_ALLOW_HOST=text)


@pytest.mark.parametrize("known", TABLE, ids=lambda known: known.name)
def test_each_setting_has_a_variable_of_its_own_a_flag_and_a_help_that_is_a_sentence(known: Setting) -> None:
    assert next(iter(known.variables)).startswith(PREFIX)
    assert known.flag.startswith("--")
    assert known.help.endswith(".")


def test_no_flag_and_no_variable_means_two_settings() -> None:
    flags = [known.flag for known in TABLE]
    variables = Counter(variable for known in TABLE for variable in known.variables)
    assert len(set(flags)) == len(flags)
    assert [variable for variable, uses in variables.items() if uses > 1] == ["REDIS_URL"], "which is for all it can do"


def test_dotenv_reads_what_shells_and_compose_files_do(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# comment\n\nexport A=1\nB = 'x # y' # note\nC=\"z\"\nD=plain # note\nE=\nF='open\n"
    )
    assert read_dotenv(tmp_path / ".env") == {"A": "1", "B": "x # y", "C": "z", "D": "plain", "E": "", "F": "'open"}


def test_without_a_dotenv_file_there_are_no_variables(tmp_path: Path) -> None:
    assert read_dotenv(tmp_path / ".env") == {}


@pytest.mark.parametrize("content", [b"just words", b"\xff\xfe", b"1A=2"])
def test_a_dotenv_file_that_cannot_be_read_is_a_configuration_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"\.env"):
        read_dotenv(tmp_path / ".env")


def test_keys_are_read_with_their_owners_and_shown_to_nobody() -> None:
    settings = read(MAINSPRING_API_KEYS="ann:0123456789abcdef, bob:with:a:colon:in:it")
    assert settings.api_keys == (GivenKey("ann", "0123456789abcdef"), GivenKey("bob", "with:a:colon:in:it"))
    for shown in (repr(settings), repr(settings.api_keys), *(value for _, value, _ in settings.shown())):
        assert "0123456789abcdef" not in shown


@pytest.mark.parametrize("text", ["ann", "ann:", "ann:tooshort", ":0123456789abcdef", "a:0123456789abcdef,bob"])
def test_what_is_no_owner_with_a_key_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ConfigurationError, match="owner:key") as refused:
        read(MAINSPRING_API_KEYS=text)
    assert "0123456789abcdef" not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("MAINSPRING_TYPO", r"MAINSPRING_TYPO isn't a setting; 'mainspring serve --help' lists them"),
        ("MAINSPRING_CONCURENCY", r"MAINSPRING_CONCURENCY isn't a setting; did you mean MAINSPRING_CONCURRENCY\?"),
        ("MAINSPRING_DRAIN", r"did you mean MAINSPRING_DRAIN_SECONDS\?"),
        ("MAINSPRING_WORKER_TTL", r"did you mean MAINSPRING_WORKER_TTL_SECONDS\?"),
        ("MAINSPRING_SERVICE", "isn't a setting"),
        ("MAINSPRING_SUBMISSIONS", "MAINSPRING_SUBMISSIONS isn't served by this version; remove it"),
        ("MAINSPRING_OUTCOMES", "isn't served by this version"),
        ("MAINSPRING_BLOBS", "isn't served by this version"),
        ("MAINSPRING_LOCKS", "isn't served by this version"),
    ],
)
def test_a_name_that_is_no_setting_is_refused_with_the_nearest(variable: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_names(environment={variable: "kafka://broker:9092"})
    with pytest.raises(ConfigurationError, match=rf"{variable} in \.env isn't"):
        check_names(environment={}, dotenv={variable: "1"})


def test_all_names_that_are_no_settings_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"MAINSPRING_A isn't .*; MAINSPRING_B in \.env isn't"):
        check_names(environment={"MAINSPRING_A": "1"}, dotenv={"MAINSPRING_B": "1"})


@pytest.mark.parametrize(
    "variables",
    [
        {variable: "1" for known in TABLE for variable in known.variables},
        {"MAINSPRING_URL": "http://127.0.0.1:8080", "MAINSPRING_KEY": "key", "MAINSPRING_VERSION": "1.0"},
        {"MAINSPRING_TEST_POSTGRESQL": "postgresql://db/x", "MAINSPRING_TEST_SCREENSHOTS": "docs/images"},
        {"MAINSPRING_TYPO": "", "OTHER_TYPO": "1", "mainspring_typo": "1"},
        {
            "MAINSPRING_SERVICE_HOST": "10.0.0.1",
            "MAINSPRING_SERVICE_PORT": "8080",
            "MAINSPRING_SERVICE_PORT_HTTP": "8080",
            "MAINSPRING_PORT": "tcp://10.0.0.1:8080",
            "MAINSPRING_PORT_8080_TCP": "tcp://10.0.0.1:8080",
            "MAINSPRING_PORT_8080_TCP_ADDR": "10.0.0.1",
            "MAINSPRING_PORT_8080_TCP_PORT": "8080",
            "MAINSPRING_PORT_8080_TCP_PROTO": "tcp",
            "MAINSPRING_PORT_53_UDP": "udp://10.0.0.1:53",
            "MAINSPRING_PORT_53_SCTP_PROTO": "sctp",
            "MAINSPRING_API_SERVICE_HOST": "10.0.0.2",
            "MAINSPRING_API_PORT": "tcp://10.0.0.2:8080",
        },
    ],
    ids=["settings", "clients", "tests", "empty or without the prefix", "services of Kubernetes"],
)
def test_names_that_others_give_are_not_refused(variables: dict[str, str]) -> None:
    check_names(environment=variables, dotenv=variables)


def test_the_address_of_a_service_is_not_our_port() -> None:
    settings = read(MAINSPRING_PORT="tcp://10.0.0.1:8080", PORT="9000")
    assert (settings.ports, settings.origins["ports"]) == ((9000,), "PORT")
    assert not read(MAINSPRING_PORT="tcp://10.0.0.1:8080").given("ports")
    with pytest.raises(ConfigurationError, match="PORT is 'tcp://"):
        read(PORT="tcp://10.0.0.1:8080")


def test_what_documents_name_and_nothing_serves_is_remembered_for_a_warning() -> None:
    assert read(S3_ENDPOINT="http://s3", dotenv={"KAFKA_BROKERS": "k:9092"}).unserved == (
        "KAFKA_BROKERS",
        "S3_ENDPOINT",
    )
    assert read(SQS_ENDPOINT="").unserved == ()
