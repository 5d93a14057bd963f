"""The dashboard's files: served to everybody, as they are, and with a policy that lets a browser run nothing else."""

import gzip
import re
from dataclasses import replace

import pytest

from mainspring.api.access import Access, GivenKey
from mainspring.api.app import create_app
from mainspring.api.dashboard import FOLDER, read_assets
from mainspring.api.ports import ApiPorts
from tests.api.calling import Api, calling

MOST_COMPRESSED = 100 * 1024


@pytest.mark.parametrize("path", ["/", "/dashboard"])
async def test_people_are_led_to_it(api: Api, path: str) -> None:
    response = await api.ask("GET", path, 307)
    assert response.headers["Location"] == "/dashboard/"


async def test_they_are_led_to_it_where_the_application_is_mounted(ports: ApiPorts) -> None:
    app = create_app(ports)
    app.root_path = "/scheduler"
    async with calling(app) as api:
        assert (await api.ask("GET", "/scheduler/", 307)).headers["Location"] == "/scheduler/dashboard/"


async def test_its_first_page_and_every_module_are_served(api: Api) -> None:
    page = await api.ask("GET", "/dashboard/", 200)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    for name, media_type in {
        "app.js": "text/javascript",
        "pages/jobs.js": "text/javascript",
        "styles.css": "text/css",
    }.items():
        response = await api.ask("GET", f"/dashboard/{name}", 200)
        assert response.headers["Content-Type"].startswith(media_type)
        assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_browser_may_run_its_own_files_only(api: Api) -> None:
    policy = (await api.ask("GET", "/dashboard/", 200)).headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy


@pytest.mark.parametrize("name", ["none.js", "../api/app.py", "..%2fapi%2fapp.py", "types.d.ts", "pages"])
async def test_nothing_else_is_served(api: Api, name: str) -> None:
    response = await api.client.get(f"/dashboard/{name}")
    assert response.status_code in (404, 401)
    assert "import" not in response.text


async def test_a_browser_that_has_a_file_is_told_so(api: Api) -> None:
    tag = (await api.ask("GET", "/dashboard/app.js", 200)).headers["ETag"]
    response = await api.ask("GET", "/dashboard/app.js", 304, headers={"If-None-Match": tag})
    assert response.content == b""


async def test_files_are_compressed_for_those_who_can_read_that(api: Api) -> None:
    plain = await api.ask("GET", "/dashboard/styles.css", 200, headers={"Accept-Encoding": "identity"})
    small = await api.ask("GET", "/dashboard/styles.css", 200, headers={"Accept-Encoding": "gzip"})
    assert (plain.headers.get("Content-Encoding"), small.headers["Content-Encoding"]) == (None, "gzip")
    assert plain.content == small.content
    assert int(small.headers["Content-Length"]) < int(plain.headers["Content-Length"]) / 2


async def test_it_needs_no_key_but_what_it_shows_does(ports: ApiPorts) -> None:
    access = Access(open_without_keys=False, keys=(GivenKey("ada", "a-key-that-is-long-enough"),))
    async with calling(create_app(replace(ports), access=access)) as api:
        for path in ("/dashboard/", "/dashboard/app.js"):
            await api.ask("GET", path, 200)
        await api.ask("GET", "/", 307)
        await api.ask("GET", "/api/v1/jobs", 401)
        await api.ask("GET", "/dashboardx", 401)


def test_all_of_it_is_small() -> None:
    assets = read_assets()
    assert sum(len(asset.compressed) for asset in assets.values()) < MOST_COMPRESSED
    for asset in assets.values():
        assert gzip.decompress(asset.compressed) == asset.content


def test_nothing_in_it_asks_another_host() -> None:
    """Addresses that stand in the files are names (of a namespace) or examples to read: none is ever fetched."""
    harmless = re.compile(r"http://www\.w3\.org/2000/svg|https://(traces\.)?example\.com\S*")
    for name, asset in read_assets().items():
        text = harmless.sub("", asset.content.decode())
        assert not re.search(r"[\"'(]https?://", text), name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), name


def test_no_module_is_left_behind() -> None:
    """Every module is reached from the first page by imports alone."""
    reached: set[str] = set()
    waiting = ["app.js"]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        folder = name.rpartition("/")[0]
        text = (FOLDER / name).read_text("utf-8")
        for target in re.findall(r'^import [^;]*?"(\.[^"]+)";', text, re.MULTILINE | re.DOTALL):
            up, path = target.count("../"), target.replace("../", "").removeprefix("./")
            waiting.append(path if up or not folder else f"{folder}/{path}")
    modules = {name for name in read_assets() if name.endswith(".js")}
    assert reached == modules
    # A browser that is told of them all at once needn't read one to learn of the next.
    named = re.findall(r'<link rel="modulepreload" href="([^"]+)">', (FOLDER / "index.html").read_text("utf-8"))
    assert sorted(named) == sorted(modules - {"app.js"})
