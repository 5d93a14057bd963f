"""`key create|list|revoke`: API keys, straight on the store. Whoever can open the store needs no key for it."""

import json
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from mainspring.cli.options import with_settings
from mainspring.errors import Invalid, NotFound
from mainspring.ports.keys import ApiKey, Scope
from mainspring.wiring.setting import Part
from mainspring.wiring.settings import Settings

if TYPE_CHECKING:
    from mainspring.wiring.resources import Resources

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_LIFE = re.compile(r"([1-9]\d{0,4})([mhdw])")
_LONGEST_NAME = 200

Json = Annotated[bool, typer.Option("--json", help="Answer with JSON.")]

keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.add_typer(keys, name="key")


@keys.command("create")
@with_settings(Part.STORE)
def create(
    settings: Settings,
    *,
    owner: Annotated[str, typer.Option("--owner", help="Whose jobs the key is for.")] = "default",
    name: Annotated[str, typer.Option("--name", help="What the key is for, to know it again.")] = "",
    scope: Annotated[Scope, typer.Option("--scope", help="What it allows, each with the one before.")] = Scope.WRITE,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help="How long it is good for: 12h, 90d, 52w.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make an API key and show it, this once. From the first key on, the API needs one."""
    from mainspring.api.keys import SECRET_BITS, digest_of, make_key  # noqa: PLC0415 - imported when it is needed
    from mainspring.domain.ids import RANDOM_BITS, new_job_id  # noqa: PLC0415
    from mainspring.wiring.loops import run_loop  # noqa: PLC0415
    from mainspring.wiring.resources import opened  # noqa: PLC0415

    for option, text in (("--owner", owner), ("--name", name)):
        if len(text) > _LONGEST_NAME or not text.isprintable() or (option == "--owner" and not text):
            raise Invalid(f"{option} must have at most {_LONGEST_NAME} characters, none of them a control character")
    life = None if expires is None else lifetime(expires)

    async def main() -> tuple[str, ApiKey]:
        async with opened(settings) as resources:
            now = resources.clock.now()
            text = make_key(resources.random.bits(SECRET_BITS))
            key = ApiKey(
                id=new_job_id(now, resources.random.bits(RANDOM_BITS)),
                digest=digest_of(text),
                owner=owner,
                name=name,
                scope=scope,
                created_at=now,
                expires_at=None if life is None else now + life,
            )
            await resources.store.keys.create(key)
            await _audit(resources, "key.create", key)
            return text, key

    text, key = run_loop(main())
    if as_json:
        typer.echo(json.dumps({**_shown(key), "key": text}))
        return
    typer.echo(text)
    typer.echo(f"key {key.id} of {owner!r}, scope {scope}: keep it now, it isn't shown again", err=True)


@keys.command("list")
@with_settings(Part.STORE)
def list_(
    settings: Settings,
    *,
    owner: Annotated[str | None, typer.Option("--owner", help="Only this owner's.")] = None,
    as_json: Json = False,
) -> None:
    """Show all keys, newest first, without their secrets."""
    from mainspring.wiring.loops import run_loop  # noqa: PLC0415 - imported when it is needed
    from mainspring.wiring.resources import opened  # noqa: PLC0415

    async def main() -> tuple[list[ApiKey], datetime]:
        async with opened(settings, may_create=False) as resources:
            return list(await resources.store.keys.list(owner)), resources.clock.now()

    found, now = run_loop(main())
    if as_json:
        typer.echo(json.dumps([_shown(key) for key in found]))
        return
    if not found:
        typer.echo("there is no key yet; make one with 'mainspring key create'")
        return
    _print_table(found, now)


@keys.command("revoke")
@with_settings(Part.STORE)
def revoke(
    settings: Settings, *, key_id: Annotated[str, typer.Argument(metavar="ID", help="As `key list` shows it.")]
) -> None:
    """End a key for good, within a second everywhere."""
    from mainspring.wiring.loops import run_loop  # noqa: PLC0415 - imported when it is needed
    from mainspring.wiring.resources import opened  # noqa: PLC0415

    try:
        identity = UUID(key_id)
    except ValueError:
        raise Invalid(f"{key_id!r} isn't the id of a key; 'mainspring key list' shows them") from None

    async def main() -> None:
        async with opened(settings, may_create=False) as resources:
            store = resources.store
            known = next((key for key in await store.keys.list(None) if key.id == identity), None)
            if known is None:
                raise NotFound(f"there is no key {identity}; 'mainspring key list' shows them")
            if await store.keys.revoke(identity):
                await _audit(resources, "key.revoke", known)

    run_loop(main())
    typer.echo(f"key {identity} is revoked")


def lifetime(text: str) -> timedelta:
    """A duration like 90d; Invalid for anything else."""
    match = _LIFE.fullmatch(text.strip())
    if match is None:
        raise Invalid(f"--expires is {text!r}, but must be a number and a unit, like 12h, 90d or 52w", field="expires")
    return int(match[1]) * _UNITS[match[2]]


async def _audit(resources: "Resources", action: str, key: ApiKey) -> None:
    import getpass  # noqa: PLC0415

    from mainspring.ports.audit import Entry  # noqa: PLC0415

    after = json.dumps({"name": key.name, "scope": key.scope}).encode()
    entry = Entry(
        actor=f"cli:{getpass.getuser()}", owner=key.owner, action=action, subject=f"key:{key.id}", after=after
    )
    await resources.store.audit.append([entry])


def _shown(key: ApiKey) -> dict[str, Any]:
    times = ("created_at", "expires_at", "revoked_at", "last_used_at")
    return {
        "id": str(key.id),
        "owner": key.owner,
        "name": key.name,
        "scope": key.scope,
        **{name: None if (at := getattr(key, name)) is None else at.isoformat() for name in times},
    }


def _print_table(found: list[ApiKey], now: datetime) -> None:
    from rich.console import Console  # noqa: PLC0415 - imported when it is needed
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None)
    table.add_column("id", no_wrap=True, min_width=len(str(UUID(int=0))))
    for name in ("owner", "name", "scope", "state", "last used"):
        table.add_column(name, overflow="fold")
    for key in found:
        # As texts, because in plain strings brackets would be read as markup.
        cells = (str(key.id), key.owner, key.name, key.scope, _state(key, now), _day(key.last_used_at) or "never")
        table.add_row(*map(Text, cells))
    Console().print(table)


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at)}"
    if key.expires_at is None:
        return "good"
    return f"good until {_day(key.expires_at)}" if key.expires_at > now else f"expired {_day(key.expires_at)}"


def _day(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M}Z"
