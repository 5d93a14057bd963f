"""Users' handlers: importing the modules that register them, and putting them beside the built-in ones."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from mainspring.errors import ConfigurationError
from mainspring.wiring.declaration import Declared
from mainspring.wiring.setting import without_password
from mainspring.wiring.settings import Settings
from mainspring.wiring.stores import file_of, shared_folder
from mainspring.worker.registry import DEFAULT, Kind, Registry


@runtime_checkable
class Application(Protocol):
    """Handlers, what their code says about their schedules, and where it keeps their jobs."""

    @property
    def registry(self) -> Registry:
        """The handlers."""
        ...

    @property
    def store(self) -> str | None:
        """The URL of the store that the code names; None if it names none."""
        ...

    def declared(self) -> Sequence[Declared]:
        """The schedules, and the functions that have none."""
        ...


class Handlers:
    """An application without schedules, on any store."""

    store = None

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def declared(self) -> Sequence[Declared]:
        """None."""
        return ()


def load_apps(apps: Sequence[str]) -> list[Application]:
    """What the modules in *apps* define: the common registry, what `module:attribute` names, or else all of a module.

    An attribute may be a registry or an application.
    """
    if str(Path.cwd()) not in sys.path:
        # A module in the current folder is what people mean, as with `python -m`.
        sys.path.insert(0, str(Path.cwd()))
    applications: list[Application] = [Handlers(DEFAULT)]
    for app in apps:
        module, _, attribute = app.partition(":")
        found = _imported(app, module)
        if attribute:
            applications.append(_named(found, app, module, attribute))
        else:
            applications += [each for each in vars(found).values() if isinstance(each, Application)]
    return applications


def _named(found: object, app: str, module: str, attribute: str) -> Application:
    named = getattr(found, attribute, None)
    if isinstance(named, Registry):
        return Handlers(named)
    if not isinstance(named, Application):
        raise ConfigurationError(f"--app {app}: {attribute!r} of {module} isn't a Registry of handlers or an App")
    return named


def on_store_of_apps(settings: Settings) -> Settings:
    """The settings on the store that the applications in them name, unless a flag or a variable names one.

    ConfigurationError if they name several.
    """
    if settings.given("store"):
        return settings
    urls = {
        _place(application.store): application.store for application in load_apps(settings.apps) if application.store
    }
    if len(urls) > 1:
        shown = ", ".join(sorted(map(without_password, urls.values())))
        raise ConfigurationError(
            f"the applications of --app name several stores ({shown}): start a process for each, or name one by --store"
        )
    for url in urls.values():
        folder = None if settings.given("data") else shared_folder(url)
        origins = {**settings.origins, "store": f"--app {','.join(settings.apps)}"}
        return replace(settings, store=url, data=folder or settings.data, origins=MappingProxyType(origins))
    return settings


def _place(url: str | None) -> object:
    """The same for two URLs of one file."""
    return file_of(url).absolute() if url is not None and shared_folder(url) is not None else url


def merge(into: Registry, sources: Sequence[Registry]) -> None:
    """Register every handler of *sources* in *into*; ConfigurationError for a name that is taken."""
    for source in dict.fromkeys(sources):
        for name in source.names():
            handler = source.find(name)
            if handler is not None:
                into.add(name, handler.function, lane=handler.lane, isolate=handler.kind is Kind.PROCESS)


def _imported(app: str, module: str) -> object:
    try:
        return import_module(module)
    except ConfigurationError:
        raise
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"--app {app}: there is no module {error.name!r} here; start in its folder") from error
    except Exception as error:
        raise ConfigurationError(f"--app {app} can't be imported: {error!r}") from error
