"""Write the reference pages that follow from the program itself: settings, the command tree, tables."""

import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.main import get_command

from mainspring.adapters.cassandra.address import DEFAULT_KEYSPACE, DEFAULT_REPLICATION
from mainspring.adapters.cassandra.schema import script
from mainspring.cli.exits import MEANINGS
from mainspring.cli.main import app
from mainspring.cli.options import JSON, TARGET
from mainspring.wiring.setting import Part, Setting, settings_of, written
from mainspring.wiring.settings import Settings
from scripts.documents import DOCUMENTS
from scripts.requirements import Count, counts, left, rows

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
MARK = "<!-- Written by `make docs` from the program. Don't edit. -->"

PARTS: Mapping[Part, tuple[str, str]] = {
    Part.STORE: ("Store", "Where everything is kept. All processes of one installation take the same values."),
    Part.HTTP: ("HTTP", "Where the API listens. A worker or scheduler that is given a port answers probes there."),
    Part.WORKER: ("Worker", "What executes runs."),
    Part.SCHEDULER: ("Scheduler", "What fires schedules and keeps the store tidy."),
    Part.LOG: ("Log", "Log lines go to the standard error."),
    Part.TRACES: ("Traces", "Spans go out by OTLP over HTTP, configured by OpenTelemetry's own `OTEL_…` variables."),
}

SETTINGS_HEAD = f"""\
# Settings

{MARK}

Each setting can be given as a flag, as a variable of the environment, or as a line `NAME=value` of a file `.env` in
the current folder. A flag counts most, then the environment, then `.env`. A variable that is empty counts as not set.

`MAINSPRING_…` names are asked first; other names in the same cell are understood too. A switch has an opposite:
`--no-allow-shell`. A repeatable flag is a list with commas in a variable: `MAINSPRING_PORT=8080,9090`.

A value that can't be used ends the program with exit code 2 and a sentence that says what is allowed. So does a
variable that begins with `MAINSPRING_` and isn't a setting: the sentence names the nearest one. Processes and the
commands that take the flags below check this; commands that talk to a server don't. Other names are allowed:
`MAINSPRING_URL`, `MAINSPRING_KEY`, the [identity of a shell job](../how-to/run-a-shell-command.md),
`MAINSPRING_VERSION` of the compose files, `MAINSPRING_TEST_…`, and what Kubernetes sets for a service called
`mainspring`, even where that is `MAINSPRING_PORT=tcp://10.0.0.1:8080`.

`KAFKA_BROKERS`, `S3_ENDPOINT` and `SQS_ENDPOINT` aren't served yet: a process
ignores them and says so once in its log.
"""

DOCUMENTS_HEAD = f"""\
# The five documents

{MARK}

Mainspring answers five older descriptions of job schedulers, S0 to S4, word for word: their paths, fields, status
words, variables and metrics. Each statement in them has a number. Here stands what shows that it holds, or what it
waits for. Names without a link are tests in [tests/documents](../../tests/documents), one file per document; they send
the commands that the documents print to real processes. Pages of the documentation are run by the tests as well.
"""

CQL_HEAD = """\
-- The tables that `mainspring migrate` makes, for `cqlsh --file`. Written by `make docs` from the program: don't edit.

"""

COMMANDS_HEAD = f"""\
# Commands

{MARK}

`mainspring` alone prints a short help, `mainspring COMMAND --help` all flags of a command. A mistyped command is
answered with the nearest that exists. `mainspring --install-completion` lets the shell complete commands and flags.

The flags for settings are listed once, in [settings](settings.md); here stands which groups of them a command takes.
"""

EXITS_HEAD = """\
## Exit codes

An error is one sentence on the standard error that says what to do next; nothing else goes there but notes.
"""

EXITS_FOOT = """\
A second SIGINT (Ctrl-C) or SIGTERM ends `serve` and its like in a hurry, with 130 or 143.
"""

TARGET_HEAD = """\
## Whom a command talks to

Commands about jobs, executions and the like talk to a server: `--url`, else `MAINSPRING_URL` of the environment or of
`.env`, else the one that listens on this machine under the same settings, by default on http://127.0.0.1:8080. With
`--store` or `--data` they work straight on a store, by the same rules and without a key; a server may run meanwhile.
"""

NEWLINE = "\n"
FOOT = "Back to [all reference](index.md).\n"


def settings_page() -> str:
    """Every setting, by part."""
    known = settings_of(Settings)
    sections = []
    for part, (title, sentence) in PARTS.items():
        rows = [_setting_row(setting) for setting in known if setting.part is part]
        table = _table(("flag", "variables", "default", "meaning", "must be"), rows)
        sections.append(f"## {title}\n\n{sentence}\n\n{table}")
    return "\n".join([SETTINGS_HEAD, *sections, FOOT])


def commands_page() -> str:
    """Every command of the tree, in its order."""
    exits = _table(("code", "meaning"), [(str(int(code)), meaning) for code, meaning in MEANINGS.items()])
    targets = _table(("", "meaning"), [_shared_row(annotation) for annotation in (*TARGET.values(), JSON)])
    sections = [_command_section(name, command) for name, command in _leaves("mainspring", get_command(app))]
    return "\n".join([COMMANDS_HEAD, EXITS_HEAD, exits, EXITS_FOOT, TARGET_HEAD, targets, *sections, FOOT])


def documents_page() -> str:
    """Every number of the five documents, and what shows that it is so."""
    found = counts()
    totals = [_count_row(f"[{name}](#{name.lower()})", [count]) for name, count in found.items()]
    totals.append(_count_row("together", found.values()))
    open_points = [(reason, "; ".join(numbers)) for reason, numbers in left().items()]
    sections = [
        f"## {each.name}\n\n{each.title}.\n\n{_table(('numbers', 'about', 'shown by'), list(rows(each)))}"
        for each in DOCUMENTS
    ]
    return "\n".join(
        [
            DOCUMENTS_HEAD,
            _table(("document", "shown", "later", "nothing to show"), totals),
            f"## Left to do\n\n{_table(('it waits for', 'numbers'), open_points)}",
            *sections,
            FOOT,
        ]
    )


def _count_row(name: str, found: Iterable[Count]) -> tuple[str, ...]:
    columns = zip(*((count.shown, count.later, count.moot) for count in found), strict=True)
    return (name, *(str(sum(column)) for column in columns))


def pages() -> Mapping[str, str]:
    """Each page that is written here by its file's name, and its text."""
    return {
        "settings.md": settings_page(),
        "commands.md": commands_page(),
        "documents.md": documents_page(),
        "cassandra.cql": CQL_HEAD + script(DEFAULT_KEYSPACE, {"": DEFAULT_REPLICATION}),
    }


def shown_default(setting: Setting) -> str:
    """A default as one would write it; the name of this machine isn't everybody's."""
    default = getattr(Settings(), setting.name)
    if default == socket.gethostname():
        return "the host's name"
    text = written(default, setting.kind)
    return f"`{text}`" if text else "none"


def _setting_row(setting: Setting) -> tuple[str, ...]:
    variables = "<br>".join(f"`{variable}`" for variable in setting.variables)
    return (f"`{setting.flag}`", variables, shown_default(setting), setting.help, setting.kind.form)


# The tree is Click's, whichever copy of it Typer brings along: only attributes that all of them have are used.
def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield name, command
        return
    if command.invoke_without_command and " " in name:
        yield name, command  # a group that does something by itself
    for child, below in children.items():
        yield from _leaves(f"{name} {child}", below)


def _command_section(name: str, command: Any) -> str:
    of_settings = {setting.name: setting.part for setting in settings_of(Settings)}
    names = {each.name for each in command.params}
    talks = names >= TARGET.keys()
    shared = {*TARGET, "as_json"} if talks else of_settings.keys()
    own = [each for each in command.params if each.name not in shared]
    arguments = " ".join(_argument(each) for each in own if each.param_type_name == "argument")
    usage = [f"{f'{name} {arguments}'.strip()} [OPTIONS]", *_examples(command)]
    text = f"## {name}\n\n{command.help}\n\n```text\n{NEWLINE.join(usage)}\n```\n"
    if own:
        text += "\n" + _table(("", "default", "meaning"), [_own_row(each) for each in own])
    if talks:
        return text + "\nAnd those that say [whom it talks to](#whom-a-command-talks-to).\n"
    parts = [part for part in PARTS if part in {of_settings.get(each.name) for each in command.params}]
    if parts:
        links = ", ".join(f"[{PARTS[part][0]}](settings.md#{PARTS[part][0].lower()})" for part in parts)
        text += f"\nSettings: {links}.\n"
    return text


def _argument(parameter: Any) -> str:
    name = f"{parameter.metavar}..." if parameter.nargs == -1 else str(parameter.metavar)
    return name if parameter.required else f"[{name}]"


def _examples(command: Any) -> list[str]:
    lines = (command.epilog or "").splitlines()[2:]
    return ["", *(line.strip() for line in lines)] if lines else []


def _shared_row(annotation: Any) -> tuple[str, ...]:
    option = annotation.__metadata__[0]
    # Typer keeps the first name of an annotated option where a default would be.
    return (f"`{' '.join(filter(None, (option.default, option.metavar)))}`", str(option.help))


def _own_row(parameter: Any) -> tuple[str, ...]:
    name = parameter.metavar
    if parameter.param_type_name == "option":
        name = " ".join(filter(None, (parameter.opts[0], parameter.metavar)))
    return (f"`{name}`", _own_default(parameter), str(parameter.help))


def _own_default(parameter: Any) -> str:
    # A default that differs from machine to machine has words of its own.
    words = getattr(parameter, "show_default", None)
    match parameter.default:
        case _ if parameter.required:
            return "required"
        case _ if isinstance(words, str):
            return words
        case None | "":
            return "none"
        case False:
            return "off"
        case value:
            return f"`{value}`"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(_escaped(cell) for cell in line) + " |\n" for line in lines)


def _escaped(cell: str) -> str:
    """A cell that keeps its bars and angle brackets; <br> is ours."""
    return cell.replace("|", "\\|").replace("<", "&lt;").replace("&lt;br>", "<br>")


def main(folder: Path = REFERENCE) -> int:
    """Write the pages and say which have changed."""
    for name, text in pages().items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
