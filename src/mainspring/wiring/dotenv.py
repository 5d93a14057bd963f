"""The `.env` file: lines of NAME=value, as shells and compose files read them, without their expansions."""

from collections.abc import Mapping
from pathlib import Path

from mainspring.errors import ConfigurationError


def read_dotenv(path: Path) -> Mapping[str, str]:
    """The variables in *path*; none if there is no such file. ConfigurationError names the line that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} can't be read ({error}); correct or remove it") from error
    variables = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip().removeprefix("export ").lstrip()
        if not content or content.startswith("#"):
            continue
        name, equals, value = content.partition("=")
        if not equals or not name.strip().isidentifier():
            raise ConfigurationError(f"line {number} of {path} isn't NAME=value; correct it or begin it with #")
        variables[name.strip()] = _unquoted(value.strip())
    return variables


def _unquoted(value: str) -> str:
    for quote in ("'", '"'):
        if value.startswith(quote) and value.find(quote, 1) > 0:
            return value[1 : value.index(quote, 1)]
    return value.partition(" #")[0].rstrip()
