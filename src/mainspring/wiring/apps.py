"""Users' handlers: importing the modules that register them, and putting them beside the built-in ones."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from mainspring.errors import ConfigurationError
from mainspring.worker.registry import DEFAULT, Kind, Registry


def load_apps(apps: Sequence[str]) -> list[Registry]:
    """The registries that the modules in *apps* fill: the common one, and those that `module:attribute` names."""
    if str(Path.cwd()) not in sys.path:
        # A module in the current folder is what people mean, as with `python -m`.
        sys.path.insert(0, str(Path.cwd()))
    registries = [DEFAULT]
    for app in apps:
        module, _, attribute = app.partition(":")
        found = _imported(app, module)
        if attribute:
            registry = getattr(found, attribute, None)
            if not isinstance(registry, Registry):
                raise ConfigurationError(f"--app {app}: {attribute!r} of {module} isn't a Registry of handlers")
            registries.append(registry)
    return registries


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
