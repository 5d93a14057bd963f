"""Check that every relative link and anchor of the documentation leads somewhere, and that no unwanted word is left.

Links out of the repository aren't followed: the check needs no network.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
HTML_LINK = re.compile(r"""<(?:a|img|source)\b[^>]*?\s(?:href|src|srcset)=["']([^"']+)["']""", re.IGNORECASE)
HTML_ANCHOR = re.compile(r"""<[a-z0-9]+\b[^>]*?\s(?:id|name)=["']([^"']+)["']""", re.IGNORECASE)

WORDS_ARE_SOUGHT_IN = ("src", "docs", "examples", "deploy", "benchmarks", "requirements", "*.md", "pyproject.toml")
UNWANTED: Mapping[str, re.Pattern[str]] = {
    "a path of somebody's machine": re.compile(r"(?<![\w.-])/(?:work|root)/"),
    "the host of a package index": re.compile(r"\bpypi\.org\b|\bpythonhosted\.org\b"),
    "unfinished work": re.compile(r"\b(?:TODO|FIXME|XXX)\b"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """Something to put right, and where."""

    file: Path
    line: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A parsed Markdown file: where it points to, and the anchors that others may point at."""

    path: Path
    links: tuple[tuple[int, str], ...]
    anchors: frozenset[str]


def parse(path: Path) -> Page:
    """Read one Markdown file."""
    links: list[tuple[int, str]] = []
    anchors: set[str] = set()
    tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    line = 1
    for position, token in enumerate(tokens):
        line = token.map[0] + 1 if token.map else line
        for piece in (token, *(token.children or ())):
            links += [(line, target) for target in targets(piece)]
            anchors |= set(HTML_ANCHOR.findall(piece.content)) if is_html(piece) else set()
        if token.type == "heading_open":
            anchors.add(unused(slug(tokens[position + 1]), anchors))
    return Page(path=path, links=tuple(links), anchors=frozenset(anchors))


def is_html(token: Token) -> bool:
    """Whether the token is markup that Markdown passes through."""
    return token.type in {"html_block", "html_inline"}


def targets(token: Token) -> list[str]:
    """The addresses that a link, an image or a piece of HTML points to."""
    if is_html(token):
        return HTML_LINK.findall(token.content)
    attribute = {"link_open": "href", "image": "src"}.get(token.type)
    return [str(token.attrs[attribute])] if attribute else []


def slug(heading: Token) -> str:
    """The anchor that code forges give a heading: lower case, hyphens for spaces, no punctuation."""
    text = "".join(piece.content for piece in heading.children or () if piece.type in {"text", "code_inline"})
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def unused(anchor: str, taken: set[str]) -> str:
    """The anchor itself, or with the first number that makes it unique on its page."""
    candidates = (anchor, *(f"{anchor}-{number}" for number in range(1, len(taken) + 2)))
    return next(candidate for candidate in candidates if candidate not in taken)


def check_links(root: Path) -> Iterator[Complaint]:
    """Find links that lead nowhere, in all Markdown files below *root*."""
    pages = {path: parse(path) for path in visible_files(root) if path.suffix == ".md"}
    for page in pages.values():
        for line, link in page.links:
            problem = problem_of(link, page, pages, root)
            if problem:
                yield Complaint(file=page.path, line=line, message=f"{link}: {problem}")


def problem_of(link: str, page: Page, pages: Mapping[Path, Page], root: Path) -> str | None:
    """Say what is wrong with a link, if anything."""
    address = urlsplit(link)
    if address.scheme or address.netloc:
        return None
    if address.path.startswith("/"):
        return "links inside the repository are relative"
    target = (page.path.parent / unquote(address.path)).resolve() if address.path else page.path
    if not target.is_relative_to(root):
        return "leads out of the repository"
    if not target.exists():
        return "no such file"
    if address.fragment and target in pages and unquote(address.fragment) not in pages[target].anchors:
        return "no such anchor"
    return None


def check_words(root: Path) -> Iterator[Complaint]:
    """Find words that must not be published."""
    chosen = {path for pattern in WORDS_ARE_SOUGHT_IN for place in root.glob(pattern) for path in visible_files(place)}
    for path in sorted(chosen):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, text in enumerate(lines, start=1):
            for meaning, pattern in UNWANTED.items():
                found = pattern.search(text)
                if found:
                    yield Complaint(file=path, line=number, message=f"{found.group()} is {meaning}")


def visible_files(place: Path) -> Iterator[Path]:
    """The file itself, or all files below the folder but those in hidden folders and caches."""
    if place.is_file():
        yield place
        return
    for child in sorted(place.iterdir()):
        hidden = child.name.startswith(".") or child.name in {"__pycache__", "data", "dist"}
        if not (child.is_dir() and hidden):
            yield from visible_files(child)


def main(root: Path = ROOT) -> int:
    """Print each complaint and return how the process should exit."""
    found = [*check_links(root), *check_words(root)]
    for complaint in found:
        print(f"{complaint.file.relative_to(root)}:{complaint.line}: {complaint.message}", file=sys.stderr)
    print(f"docs: {len(found)} complaints" if found else "docs: every link leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
