"""`/dashboard/`: the files of the dashboard, and the way there from `/`.

They are the same for everybody and say nothing about anybody's jobs, so they need no key: the pages ask for one, and
show what the API answers. A browser may run nothing but these files, and reach nothing but this server.
"""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

FOLDER = resources.files("mainspring") / "dashboard"
_PATH = "/dashboard/"
_FIRST = "index.html"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file as it is sent."""

    content: bytes
    compressed: bytes
    media_type: str
    tag: str


def is_dashboard(path: str) -> bool:
    """Whether somebody without a key may ask for *path*, in order to be asked for one there."""
    return path in ("/", "/dashboard") or path.startswith(_PATH)


@cache
def read_assets() -> Mapping[str, Asset]:
    """Every file of the dashboard by its path, as it is when first asked for; others that lie there aren't served."""
    return {name: _asset(file, name) for name, file in _files(FOLDER, "") if _suffix(name) in _TYPES}


def dashboard_router() -> APIRouter:
    """The routes; the files are read before anybody asks for them."""
    router = APIRouter(include_in_schema=False)
    assets = read_assets()

    @router.api_route("/", methods=["GET", "HEAD"])
    @router.api_route("/dashboard", methods=["GET", "HEAD"])
    async def lead(request: Request) -> Response:
        return RedirectResponse(request.scope.get("root_path", "") + _PATH, 307)

    @router.api_route(_PATH + "{name:path}", methods=["GET", "HEAD"])
    async def show(name: str, request: Request) -> Response:
        asset = assets.get(name or _FIRST)
        if asset is None:
            raise HTTPException(404, f"the dashboard has no file {name!r}")
        return _answer(asset, request)

    return router


def _answer(asset: Asset, request: Request) -> Response:
    headers = {**_HEADERS, "ETag": asset.tag}
    if request.headers.get("If-None-Match") == asset.tag:
        return Response(status_code=304, headers=headers)
    content = asset.content
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        content, headers["Content-Encoding"] = asset.compressed, "gzip"
    return Response(content, headers=headers, media_type=asset.media_type)


def _asset(file: Traversable, name: str) -> Asset:
    content = file.read_bytes()
    return Asset(
        content=content,
        compressed=gzip.compress(content, mtime=0),
        media_type=_TYPES[_suffix(name)],
        tag=f'"{hashlib.sha256(content).hexdigest()[:32]}"',
    )


def _files(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _files(entry, f"{prefix}{entry.name}/")
        else:
            found.append((prefix + entry.name, entry))
    return found


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]
