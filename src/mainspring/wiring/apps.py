"""Users' handlers: importing the modules that register them, and putting them beside the built-in ones."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

from mainspring.errors import ConfigurationError
from mainspring.wiring.declaration import Declared
from mainspring.worker.registry import DEFAULT, Kind, Registry


@runtime_checkable
class Application(Protocol):
    """Handlers, and what their code says about their schedules."""

    @property
    def registry(self) -> Registry:
        """The handlers."""
        ...

    def declared(self) -> Sequence[Declared]:
        """The schedules, and the functions that have none."""
        ...


class Handlers:
    """An application without schedules."""

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
