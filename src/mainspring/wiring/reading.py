"""Settings from flags, the environment and `.env`, in this order of precedence."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mainspring.errors import ConfigurationError
from mainspring.wiring.kinds import Kind
from mainspring.wiring.setting import MASK, Setting, settings_of, without_password
from mainspring.wiring.settings import Settings


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
    return Settings(**values, origins=MappingProxyType(origins))


def _find(
    known: Setting, flags: Mapping[str, str], environment: Mapping[str, str], dotenv: Mapping[str, str]
) -> tuple[str, Kind[Any], str] | None:
    if known.name in flags:
        return known.flag, known.kind, flags[known.name]
    for source, suffix in ((environment, ""), (dotenv, " in .env")):
        for variable, kind in known.variables.items():
            # Compose files and shells write VARIABLE= for "not set".
            if source.get(variable):
                return variable + suffix, kind, source[variable]
    return None


def _value(known: Setting, origin: str, kind: Kind[Any], text: str) -> Any:
    try:
        return kind.read(text)
    except ValueError:
        shown = MASK if known.secret else repr(without_password(text))
        raise ConfigurationError(f"{origin} is {shown}, but must be {kind.form}") from None
