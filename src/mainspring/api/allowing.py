"""Which methods a path takes, told to whoever used another.

The framework names those of one route only, and a path may have several; the document knows them all.
"""

from collections.abc import Iterable

from fastapi import FastAPI
from starlette.routing import compile_path


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """The methods that the document of *app* describes for *path*, in the order of the alphabet."""
    described: dict[str, Iterable[str]] = app.openapi()["paths"]
    if path in described:  # written out, it isn't a value of another path's parameter
        return sorted(map(str.upper, described[path]))
    fitting = (methods for template, methods in described.items() if compile_path(template)[0].match(path))
    return sorted({method.upper() for methods in fitting for method in methods})
