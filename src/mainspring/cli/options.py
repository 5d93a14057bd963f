"""Flags that many commands share: settings straight from the table, and whom to talk to."""

import functools
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from mainspring.cli.exits import INTERRUPTED
from mainspring.cli.target import Target, connected
from mainspring.wiring.dotenv import read_dotenv
from mainspring.wiring.reading import check_names, read_settings
from mainspring.wiring.setting import Part, Setting, settings_of
from mainspring.wiring.settings import Settings

Command = Callable[..., None]

TARGET: Mapping[str, Any] = {
    "url": Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="The server to talk to. [MAINSPRING_URL]", show_default=False),
    ],
    "api_key": Annotated[
        str | None,
        typer.Option("--api-key", metavar="KEY", help="Its API key. [MAINSPRING_KEY]", show_default=False),
    ],
    "owner": Annotated[
        str | None,
        typer.Option("--owner", metavar="NAME", help="On whose behalf, where no key says it.", show_default=False),
    ],
    "store": Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="Work on this store, without a server.", show_default=False),
    ],
    "data": Annotated[
        str | None,
        typer.Option("--data", metavar="DIR", help="Work on this data folder, without a server.", show_default=False),
    ],
}
JSON = Annotated[bool, typer.Option("--json", help="Print JSON, in lists one object per line.")]


def with_settings(*parts: Part) -> Callable[[Command], Command]:
    """Give a command the flags of *parts*; it receives the settings that come of them as its first argument."""
    known = [setting for setting in settings_of(Settings) if setting.part in parts]

    def decorate(command: Command) -> Command:
        def with_flags(**values: Any) -> None:
            flags = _texts({setting.name: values.pop(setting.name) for setting in known})
            dotenv = read_dotenv(Path(".env"))
            settings = read_settings(flags=flags, environment=os.environ, dotenv=dotenv)
            context = values.get("context")
            if context is None or context.invoked_subcommand is None:  # `worker list` talks to a server
                check_names(environment=os.environ, dotenv=dotenv)
                settings = _on_store_of_apps(settings)
            command(settings, **values)

        return _reshaped(with_flags, command, given=1, added=[_parameter(setting) for setting in known])

    return decorate


def with_server(command: Callable[..., Awaitable[int | None]], *, may_create: bool = False) -> Command:
    """Give a coroutine the flags that say whom to talk to, and `--json`.

    It receives the server and the printer as its first arguments, and may return an exit code. Only one that
    *may_create* a store does so where --store or --data names one that isn't there, and not if it is to --check only.
    """

    def with_flags(**values: Any) -> None:
        from mainspring.cli.printing import Printer  # noqa: PLC0415 - imported when it is needed
        from mainspring.wiring.loops import run_loop  # noqa: PLC0415

        target = Target(**{each.name: values.pop(each.name) for each in fields(Target)})
        printer = Printer(as_json=values.pop("as_json"))

        async def main() -> int | None:
            async with connected(target, may_create=may_create and not values.get("check")) as server:
                return await command(server, printer, **values)

        try:
            code = run_loop(main())
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        if code:
            raise typer.Exit(code)

    added = [_keyword("as_json", JSON, default=False), *(_keyword(name, kind) for name, kind in TARGET.items())]
    return _reshaped(with_flags, command, given=2, added=added)


def _on_store_of_apps(settings: Settings) -> Settings:
    if not settings.apps:
        return settings
    from mainspring.wiring.apps import on_store_of_apps  # noqa: PLC0415 - imported when it is needed

    return on_store_of_apps(settings)


def examples(*lines: str) -> str:
    """What stands below a command's help, line by line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _reshaped(
    wrapper: Command, command: Callable[..., Any], *, given: int, added: Sequence[inspect.Parameter]
) -> Command:
    """*wrapper* with the signature of *command*, less the arguments that it is *given*, and what is *added*."""
    functools.update_wrapper(wrapper, command)
    own = list(inspect.signature(command).parameters.values())[given:]
    parameters = [*(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own), *added]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect looks for
    wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapper


def _keyword(name: str, annotation: Any, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


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
    return _keyword(setting.name, Annotated[kind, option])


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
