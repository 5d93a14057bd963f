"""The process in which a page's Python blocks run: a block per line on stdin, a verdict per line on stdout.

What the blocks print goes to stderr, which the parent keeps in a file.
"""

import json
import os
import sys
import traceback


def main() -> None:
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    namespace: dict[str, object] = {"__name__": "__main__"}
    sys.path[0] = ""  # modules are found in the current folder, as at a reader's own prompt
    for request in sys.stdin:
        print(json.dumps(run(json.loads(request), namespace)), file=replies, flush=True)


def run(block: dict[str, str], namespace: dict[str, object]) -> str | None:
    """Execute a block and return its traceback, if it raised."""
    try:
        exec(compile(block["source"], block["file"], "exec"), namespace)  # noqa: S102  the docs are our own
    except BaseException:  # noqa: BLE001  SystemExit too: a page must not end early
        return traceback.format_exc()
    finally:
        sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
