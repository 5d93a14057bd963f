"""Finds what a page of the documentation promises to run.

A fenced block marked `python` is Python; one marked `console` holds commands after `$ ` (continued after `> `) and,
between them, what they print. Other names for the same things are refused, so that no command escapes by its label.
A block marked `python file=name.py` is a file that the reader saves.
A block is passed over only if a comment right before it says why: `<!-- not-executed: reason -->`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

EXECUTED = frozenset({"python", "console"})
REFUSED = frozenset({"bash", "sh", "shell", "zsh", "shell-session", "py", "python3", "pycon"})
NOT_EXECUTED = re.compile(r"<!--\s*not-executed:(?P<reason>.*?)-->", re.DOTALL)


class UnclearBlock(Exception):
    """A block of a page can't be run as it stands, and doesn't say why it shouldn't be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    language: str
    source: str
    line: int
    """Where the block's first line stands in its page."""
    file: str | None = None
    """The name to save it under, if it is to be saved and not to be run."""


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page that must run, in order; UnclearBlock if one can't be judged."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    before: Token | None = None
    for token in tokens:
        if token.type == "fence":
            words = token.info.split()
            language = words[0] if words else ""
            line = token.map[0] + 2 if token.map else 0
            place = f"{page.name}:{line - 1}"
            if language in REFUSED:
                raise UnclearBlock(f"{place}: mark commands as `console` and code as `python`, not as `{language}`")
            excuse = NOT_EXECUTED.search(before.content) if before and before.type == "html_block" else None
            if excuse and not excuse["reason"].strip():
                raise UnclearBlock(f"{place}: `not-executed` needs a reason")
            if language in EXECUTED and not excuse:
                yield Block(language=language, source=token.content, line=line, file=file_of(words[1:], place))
        before = token


def file_of(attributes: list[str], place: str) -> str | None:
    """The file that a block's first line names; never outside of the folder that a page has."""
    names = [each.removeprefix("file=") for each in attributes if each.startswith("file=")]
    if len(names) != len(attributes) or len(names) > 1 or any(not name or not _inside(name) for name in names):
        raise UnclearBlock(f"{place}: nothing but `file=name` may follow the language")
    return names[0] if names else None


def _inside(name: str) -> bool:
    return not Path(name).is_absolute() and ".." not in Path(name).parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """A console block, taken apart."""

    script: str
    expected: str
    """What the commands should print together; empty if the block doesn't say."""


def console(block: Block) -> Console:
    """Split a console block into commands and the output that it shows."""
    script: list[str] = []
    expected: list[str] = []
    in_command = False
    for line in block.source.splitlines():
        if line.startswith("$ "):
            script.append(line.removeprefix("$ "))
            in_command = True
        elif in_command and (line.startswith(">") or script[-1].endswith("\\")):
            script.append(re.sub(r"^> ?", "", line))
        elif script:
            expected.append(line)
            in_command = False
        else:
            raise UnclearBlock(f"line {block.line}: a console block begins with a command after `$ `")
    return Console(script="\n".join(script) + "\n", expected="\n".join(expected).strip("\n"))


def matches(expected: str, printed: str) -> bool:
    """Compare line by line; `...` stands for any text in a line, and alone on a line for any lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(line.rstrip()).replace(r"\.\.\.", ".*") + r"\n"
        for line in expected.splitlines()
    )
    printed_lines = (line.rstrip() for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed_lines)) is not None
