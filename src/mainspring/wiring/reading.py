"""Settings from flags, the environment and `.env`, in this order of precedence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from mainspring.errors import ConfigurationError
from mainspring.wiring.kinds import Kind
from mainspring.wiring.setting import MASK, PREFIX, Setting, settings_of, without_password
from mainspring.wiring.settings import Settings

NOT_SERVED: Final = frozenset(PREFIX + name for name in ("SUBMISSIONS", "OUTCOMES", "BLOBS", "LOCKS"))
"""Settings that are described, and that this version doesn't serve."""

OTHERS_NOT_SERVED: Final = ("KAFKA_BROKERS", "S3_ENDPOINT", "SQS_ENDPOINT")
"""Variables that may be meant for another program."""

_NOT_SETTINGS: Final = frozenset(
    PREFIX + name
    for name in (
        "URL",  # what clients talk to, and by which key
        "KEY",
        "RUN_ID",  # what a shell job is told about itself: it may start a process of Mainspring
        "JOB_ID",
        "ATTEMPT",
        "FENCE",
        "VERSION",  # the image's, for compose files that share their .env with a process
    )
)
_OF_TESTS = PREFIX + "TEST_"
_OF_A_SERVICE = re.compile(
    r"_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?$"
)
_ADDRESS = re.compile(r"(tcp|udp|sctp)://")
"""Kubernetes tells each container where the services of its namespace are: MAINSPRING_PORT=tcp://10.0.0.1:8080."""


def read_settings(
    *, flags: Mapping[str, str], environment: Mapping[str, str], dotenv: Mapping[str, str] | None = None
) -> Settings:
    """Settings from texts: *flags* by the setting's name, the others by variable. ConfigurationError for a bad one."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for known in settings_of(Settings):
        found = _find(known, flags, environment, dotenv or {})
        if found is not None:
            origin, kind, text = found
            values[known.name] = _value(known, origin, kind, text)
            origins[known.name] = origin
    texts = {**(dotenv or {}), **environment}
    unserved = tuple(name for name in OTHERS_NOT_SERVED if texts.get(name))
    return Settings(**values, origins=MappingProxyType(origins), unserved=unserved)


def check_names(*, environment: Mapping[str, str], dotenv: Mapping[str, str] | None = None) -> None:
    """Refuse variables that would be settings by their name, and aren't: ConfigurationError says which is meant."""
    faults = [*_faults(environment, ""), *_faults(dotenv or {}, " in .env")]
    if faults:
        raise ConfigurationError("; ".join(faults))


def _faults(source: Mapping[str, str], suffix: str) -> Iterator[str]:
    known = [next(iter(setting.variables)) for setting in settings_of(Settings)]
    for name in sorted(source):
        if not name.startswith(PREFIX) or name in known or name in _NOT_SETTINGS or name.startswith(_OF_TESTS):
            continue
        if not source[name] or _of_a_service(name, source[name]):
            continue
        if name in NOT_SERVED:
            yield f"{name}{suffix} isn't served by this version; remove it"
        else:
            nearest = _nearest(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known])
            advice = f"did you mean {PREFIX}{nearest}?" if nearest else "'mainspring serve --help' lists them"
            yield f"{name}{suffix} isn't a setting; {advice}"


def _nearest(name: str, known: Sequence[str]) -> str | None:
    """Without what all of them begin with, which would make any two alike; one whose unit was left out comes first."""
    found = [each for each in known if each.startswith(f"{name}_")] or get_close_matches(name, known, n=1)
    return next(iter(found), None)


def _of_a_service(name: str, text: str) -> bool:
    return _OF_A_SERVICE.search(name) is not None or (name.endswith("_PORT") and _ADDRESS.match(text) is not None)


def _find(
    known: Setting, flags: Mapping[str, str], environment: Mapping[str, str], dotenv: Mapping[str, str]
) -> tuple[str, Kind[Any], str] | None:
    if known.name in flags:
        return known.flag, known.kind, flags[known.name]
    for source, suffix in ((environment, ""), (dotenv, " in .env")):
        for variable, kind in known.variables.items():
            text = source.get(variable)
            # Compose files and shells write VARIABLE= for "not set".
            if text and not (variable.startswith(PREFIX) and _of_a_service(variable, text)):
                return variable + suffix, kind, text
    return None


def _value(known: Setting, origin: str, kind: Kind[Any], text: str) -> Any:
    try:
        return kind.read(text)
    except ValueError:
        shown = MASK if known.secret else repr(without_password(text))
        raise ConfigurationError(f"{origin} is {shown}, but must be {kind.form}") from None
