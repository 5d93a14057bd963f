"""Holds answers to the OpenAPI document: a status that isn't described, or a body of another shape, is a fault."""

import re
from functools import cache
from typing import Any

import httpx
from fastapi import FastAPI
from pydantic import BaseModel

from mainspring.api.openapi import SHOWN

MODELS: dict[str, type[BaseModel]] = {model.__name__: model for model in SHOWN}


class Described:
    """The document of an application, ready to be looked up."""

    def __init__(self, app: FastAPI) -> None:
        self.document: dict[str, Any] = _document(app)
        self._paths = [(_pattern(path), operations) for path, operations in self.document["paths"].items()]

    def check(self, response: httpx.Response) -> None:
        """Assert that the answer is one that the document describes, where it describes the path at all."""
        operation = self._operation(response.request.method.lower(), response.request.url.path)
        if operation is None:
            return
        described = operation["responses"].get(str(response.status_code))
        assert described is not None, f"{response.request.method} {response.request.url}: {response.status_code}"
        content = described.get("content", {})
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        assert bool(response.content) is bool(content), response.text
        if kind.endswith("json"):
            schema = content[kind]["schema"]
            if "$ref" in schema:
                MODELS[schema["$ref"].rpartition("/")[2]].model_validate(response.json())

    def _operation(self, method: str, path: str) -> Any:
        fitting = [operations for pattern, operations in self._paths if pattern.fullmatch(path)]
        return next((operations[method] for operations in fitting if method in operations), None)


_documents: dict[tuple[str, ...], dict[str, Any]] = {}


def _document(app: FastAPI) -> dict[str, Any]:
    """Made once for all applications with the same routes: it takes longer than most tests."""
    paths = tuple(getattr(route, "path", "") for route in app.routes)
    if paths not in _documents:
        _documents[paths] = app.openapi()
    return _documents[paths]


@cache
def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{[^}]+\})", path)
    return re.compile(
        "".join((".+" if part == "{name}" else "[^/]+") if part.startswith("{") else re.escape(part) for part in parts)
    )
