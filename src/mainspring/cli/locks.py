"""`lock acquire|renew|release|show|list`: named, fenced leases from a shell."""

import getpass
import secrets
import socket
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.listing import All, Limit
from mainspring.cli.options import examples, with_server
from mainspring.cli.values import duration_of, milliseconds_of
from mainspring.errors import Conflict

if TYPE_CHECKING:
    from mainspring.cli.printing import Printer
    from mainspring.cli.server import Server

Name = Annotated[str, typer.Argument(metavar="NAME", help="The lock's name.", show_default=False)]
Holder = Annotated[
    str | None, typer.Option("--holder", metavar="WHO", help="Who holds it; a name of its own unless given.")
]
Token = Annotated[int, typer.Option("--token", metavar="N", help="As `lock acquire` printed it.", show_default=False)]
Ttl = Annotated[str, typer.Option("--ttl", metavar="TIME", help="It is free again after this, unless renewed.")]

LONGEST_PAUSE = timedelta(seconds=1)

locks = typer.Typer(help="Take, give up and look at locks.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.add_typer(locks, name="lock")


@locks.command(
    "acquire",
    epilog=examples(
        "token=$(mainspring lock acquire nightly --ttl 10m --quiet) && backup --fence $token",
        "mainspring lock acquire nightly --wait 1m",
    ),
)
@with_server
async def acquire(
    server: "Server",
    show: "Printer",
    *,
    name: Name,
    ttl: Ttl = "30s",
    holder: Holder = None,
    wait: Annotated[
        str | None, typer.Option("--wait", metavar="TIME", help="Try for so long; at once unless given.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the token alone.")] = False,
) -> None:
    """Take a lock and print its token; exit with 4 while somebody else holds it."""
    import asyncio  # noqa: PLC0415 - imported when it is needed

    from mainspring.cli.server import lock_path  # noqa: PLC0415
    from mainspring.client import errors  # noqa: PLC0415

    body = {"holder": holder or _somebody(), "ttl_ms": milliseconds_of(ttl, "--ttl")}
    give_up_at = time.monotonic() + (0 if wait is None else duration_of(wait, "--wait").total_seconds())
    held = None
    while held is None:
        try:
            held = await server.send("POST", lock_path(name, "acquire"), body)
        except errors.Conflict as busy:
            left = timedelta(seconds=give_up_at - time.monotonic())
            if left <= timedelta(0):
                raise
            pause = min(busy.retry_after or LONGEST_PAUSE, LONGEST_PAUSE, left)
            await asyncio.sleep(pause.total_seconds())
    if quiet:
        show.text(f"{held['token']}\n")
    else:
        show.answer(held, _sentence(name, held))


@locks.command("renew")
@with_server
async def renew(
    server: "Server", show: "Printer", *, name: Name, token: Token, ttl: Ttl = "30s", holder: Holder = None
) -> None:
    """Hold a lock for longer; exit with 4 if it was lost."""
    from mainspring.cli.server import lock_path  # noqa: PLC0415 - imported when it is needed

    milliseconds = milliseconds_of(ttl, "--ttl")
    body = {"holder": holder or await _holder(server, name), "token": token, "ttl_ms": milliseconds}
    held = await server.send("POST", lock_path(name, "renew"), body)
    show.answer(held, _sentence(name, held))


@locks.command("release")
@with_server
async def release(server: "Server", show: "Printer", *, name: Name, token: Token, holder: Holder = None) -> None:
    """Give a lock up; exit with 4 if it was lost already."""
    from mainspring.cli.server import lock_path  # noqa: PLC0415 - imported when it is needed

    body = {"holder": holder or await _holder(server, name), "token": token}
    answer = await server.send("POST", lock_path(name, "release"), body)
    show.answer(answer or {"name": name, "released": True}, f"lock {name} is free")


@locks.command("show")
@with_server
async def show_(server: "Server", show: "Printer", *, name: Name) -> None:
    """Show who holds a lock; exit with 3 if nobody does."""
    from mainspring.cli.server import lock_path  # noqa: PLC0415 - imported when it is needed

    show.item(await server.fetch(lock_path(name)))


@locks.command("list", epilog=examples("mainspring lock list", "mainspring lock list --json | jq -r .name"))
@with_server
async def list_(server: "Server", show: "Printer", *, limit: Limit = 50, everything: All = False) -> None:
    """List the locks that are held, those first that end first."""
    from mainspring.cli.columns import LOCKS  # noqa: PLC0415 - imported when it is needed

    most = None if everything else limit
    found = server.listed("/locks", None if most is None else most + 1)
    await show.items(found, LOCKS, limit=most, otherwise="no lock is held; 'mainspring lock acquire NAME' takes one")


def _somebody() -> str:
    """Another name each time: whoever asks again under the same name is given its own lock again."""
    return f"{getpass.getuser()}@{socket.gethostname()}/{secrets.token_hex(8)}"


async def _holder(server: "Server", name: str) -> str:
    """Whoever holds it: the token alone says whether that is us."""
    from mainspring.cli.server import lock_path  # noqa: PLC0415 - imported when it is needed
    from mainspring.client.errors import NotFound  # noqa: PLC0415

    try:
        return str((await server.fetch(lock_path(name)))["holder"])
    except NotFound:
        raise Conflict(f"nobody holds the lock {name!r} any more: its time was up, or it was released") from None


def _sentence(name: str, held: dict[str, object]) -> str:
    return f"lock {name}: token {held['token']}, held by {held['holder']} until {held['expires_at']}"
