"""Settings as flags: every command takes those of the parts that it uses, straight from the table."""

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mainspring.wiring.dotenv import read_dotenv
from mainspring.wiring.reading import read_settings
from mainspring.wiring.setting import Part, Setting, settings_of
from mainspring.wiring.settings import Settings


def with_settings(*parts: Part) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags of *parts*; it receives the settings that come of them as its first argument."""
    known = [setting for setting in settings_of(Settings) if setting.part in parts]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_flags(**values: Any) -> None:
            flags = _texts({setting.name: values.pop(setting.name) for setting in known})
            settings = read_settings(flags=flags, environment=os.environ, dotenv=read_dotenv(Path(".env")))
            command(settings, **values)

        own = list(inspect.signature(command).parameters.values())[1:]
        parameters = [*(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own), *map(_parameter, known)]
        with_flags.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect looks for
        with_flags.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_flags

    return decorate


def _parameter(setting: Setting) -> inspect.Parameter:
    kind: Any = str | None
    flag = setting.flag
    if setting.kind.switch:
        kind, flag = bool | None, f"{flag}/--no-{flag.removeprefix('--')}"
    elif setting.kind.many:
        kind = list[str] | None
    option = typer.Option(
        flag,
        help=f"{setting.help} [{', '.join(setting.variables)}]",
        show_default=False,
        metavar=None if setting.kind.switch else "VALUE",
    )
    annotation = Annotated[kind, option]
    return inspect.Parameter(setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """The flags that were given, as the texts that the environment would hold."""
    texts = {}
    for name, value in values.items():
        if isinstance(value, bool):
            texts[name] = "1" if value else "0"
        elif isinstance(value, list):
            texts |= {name: ",".join(value)} if value else {}
        elif value is not None:
            texts[name] = value
    return texts
