"""The OpenAPI document, and `/docs`: the same as a page to read, which works without a network."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from importlib import resources
from string import Template
from typing import Any

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import HTMLResponse

_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
_TEMPLATE = Template((resources.files(__package__) / "docs.html").read_text("utf-8"))
_METHODS = ("get", "post", "put", "patch", "delete")


def docs_router(app: FastAPI) -> APIRouter:
    """The document about *app*, and the page. Each is written once: that takes longer than any answer should."""
    router = APIRouter(include_in_schema=False)

    @cache
    def text() -> bytes:
        return json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()

    @cache
    def page() -> str:
        return render(app.openapi())

    @router.get("/openapi.json")
    async def openapi() -> Response:
        return Response(text(), media_type="application/json")

    @router.get("/docs")
    async def docs() -> HTMLResponse:
        return HTMLResponse(page(), headers=_HEADERS)

    return router


def render(document: Mapping[str, Any]) -> str:
    """The page for an OpenAPI *document*."""
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if method in methods:
                operation = methods[method]
                tag = (operation.get("tags") or ["other"])[0]
                by_tag.setdefault(tag, []).append(_operation(method, path, operation))
    schemas = document["components"]["schemas"]
    return _TEMPLATE.substitute(
        title=escape(document["info"]["title"]),
        version=escape(document["info"]["version"]),
        about=_text(document["info"].get("description", "")),
        links="".join(f'<a href="#{_anchor(tag)}">{escape(tag)}</a>' for tag in by_tag),
        operations="".join(
            f'<h2 id="{_anchor(tag)}">{escape(tag)}</h2>{"".join(operations)}' for tag, operations in by_tag.items()
        ),
        schemas="".join(_schema(name, schemas[name]) for name in sorted(schemas)),
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    parameters = "".join(_parameter(each) for each in operation.get("parameters", ()))
    body = operation.get("requestBody", {}).get("content", {})
    takes = "".join(
        f"<p>Takes {_type(each.get('schema', {}))} as <code>{escape(kind)}</code></p>" for kind, each in body.items()
    )
    answers = "".join(_answer(code, each) for code, each in operation.get("responses", {}).items())
    return (
        f'<details id="{escape(operation.get("operationId", ""))}"><summary><b class="{method}">{method.upper()}</b>'
        f"<code>{escape(path)}</code><span>{escape(operation.get('summary', ''))}</span></summary>"
        f"{_table('Parameter', 'In', 'Type', 'Meaning', rows=parameters)}{takes}"
        f"{_table('Answer', 'Shows', 'Meaning', rows=answers)}</details>"
    )


def _parameter(parameter: Mapping[str, Any]) -> str:
    name = escape(parameter["name"]) + ("" if not parameter.get("required") else " *")
    schema = parameter.get("schema", {})
    meaning = escape(parameter.get("description") or schema.get("description") or "")
    return _row(f"<code>{name}</code>", escape(parameter["in"]), _type(schema), meaning)


def _answer(code: str, answer: Mapping[str, Any]) -> str:
    shown = " ".join(_type(each.get("schema", {})) for each in answer.get("content", {}).values())
    return _row(f"<code>{escape(str(code))}</code>", shown, escape(answer.get("description", "")))


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    rows = "".join(
        _row(f"<code>{escape(field)}</code>{' *' if field in required else ''}", _type(each), "".join(_limits(each)))
        for field, each in schema.get("properties", {}).items()
    )
    example = schema.get("example")
    shown = "" if example is None else f"<pre>{escape(json.dumps(example, indent=2, ensure_ascii=False))}</pre>"
    about = _text(schema.get("description", ""))
    return (
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code><span>{about}</span></summary>'
        f"{_table('Field', 'Type', 'Meaning', rows=rows)}{shown}</details>"
    )


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    yield escape(schema.get("description", ""))
    words = {
        "minimum": "from",
        "maximum": "up to",
        "minLength": "at least",
        "maxLength": "at most",
        "default": "default",
    }
    for name, word in words.items():
        if isinstance(schema.get(name), str | int | float):
            yield f" {word} <code>{escape(str(schema[name]))}</code>"


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " · ".join(f"<code>{escape(str(each))}</code>" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_type(schema.get('items', {}))}"
    return escape(schema.get("format") or schema.get("type") or "any value")


def _table(*heads: str, rows: str) -> str:
    if not rows:
        return ""
    return (
        f"<table><thead><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(*cells: str) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _text(text: str) -> str:
    return escape(" ".join(text.split())).replace("`", "")


def _anchor(tag: str) -> str:
    return escape(tag.replace(" ", "-"))
