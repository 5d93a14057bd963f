"""Write the blocking client from the one for coroutines: the same code without `async` and `await`.

Works on tokens, so that a word inside a name or a text is never taken for a keyword. What the two can't share
(sleeping, background work) has a name of its own on each side, and the table below says which stands for which.
"""

import argparse
import io
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/mainspring/client/asynchronous"
TARGET = ROOT / "src/mainspring/client/blocking"
HEADER = "# Written by scripts/write_blocking.py from {source}. Don't edit.\n"
KEYWORDS = frozenset({"async", "await"})
NAMES = {
    "AsyncBaseTransport": "BaseTransport",
    "AsyncClient": "Client",
    "AsyncIterator": "Iterator",
    "AsyncRepeater": "Repeater",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aiter_lines": "iter_lines",
    "aread": "read",
    "async_closing": "closing",
    "async_default_transport": "default_transport",
    "async_sleep": "sleep",
    "asynccontextmanager": "contextmanager",
    "asynchronous": "blocking",
}
WORDS = {
    "async with": "with",
    "for coroutines. The blocking one beside it is written from these files by scripts/write_blocking.py.": (
        "without coroutines."
    ),
    "serves any number of callers": "serves any number of threads",
}
EXCUSES = {"  # noqa: ASYNC109 - it isn't a cancellation": "", "  # noqa: ASYNC109 - the same": ""}


def blocking(source: str) -> str:
    """The same module for callers that block."""
    for excuse, nothing in EXCUSES.items():
        source = source.replace(excuse, nothing)
    pieces: list[str] = []
    lines = [*source.splitlines(keepends=True), ""]
    row, column = 1, 0
    swallow = False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        between = _between(lines, (row, column), token.start)
        pieces.append(between[1:] if swallow else between)
        swallow = token.type == tokenize.NAME and token.string in KEYWORDS
        pieces.append("" if swallow else _translated(token))
        row, column = token.end
    return "".join(pieces)


def formatted(code: str) -> str:
    """As the repository's formatter would have it: lines that became shorter are joined, imports are sorted."""
    for command in (["check", "--select", "I", "--fix-only", "--quiet"], ["format", "--quiet"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET / "module.py"), "-"]
        code = subprocess.run(arguments, input=code, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return code


def modules() -> dict[Path, str]:
    """Every file of the blocking client, as it should be."""
    return {
        TARGET / each.name: formatted(HEADER.format(source=each.relative_to(ROOT)) + blocking(each.read_text("utf-8")))
        for each in sorted(SOURCE.glob("*.py"))
    }


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    (row, column), (end_row, end_column) = start, end
    if row == end_row:
        return lines[row - 1][column:end_column]
    return lines[row - 1][column:] + "".join(lines[row : end_row - 1]) + lines[end_row - 1][:end_column]


def _translated(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        return NAMES.get(token.string, token.string)
    text = token.string
    if token.type == tokenize.STRING:
        for words, others in WORDS.items():
            text = text.replace(words, others)
    return text


def main() -> int:
    """Write the files, or with --check say which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something is out of date")
    check = parser.parse_args().check
    TARGET.mkdir(exist_ok=True)
    wanted = modules()
    stale = [path for path, code in wanted.items() if not path.exists() or path.read_text("utf-8") != code]
    stale += [path for path in TARGET.glob("*.py") if path not in wanted]
    for path in stale:
        print(path.relative_to(ROOT))
        if not check and path in wanted:
            path.write_text(wanted[path], encoding="utf-8")
        elif not check:
            path.unlink()
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
