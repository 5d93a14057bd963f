"""`bench`: the measurements of the repository, for whoever has it; and `bench locks`, on any store."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from mainspring.cli.options import JSON, examples, with_settings
from mainspring.errors import ConfigurationError
from mainspring.wiring.setting import Part
from mainspring.wiring.settings import Settings

if TYPE_CHECKING:
    from mainspring.cli.lock_bench import Measured, Terms

LOCKS = "locks"
_OWN = ([LOCKS], ["--help"])


class _Bench(TyperGroup):
    """Whatever isn't one of our own words is for the benchmarks of the repository."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args[:1] in _OWN:
            return super().parse_args(ctx, args)
        super().parse_args(ctx, [])
        ctx.args = args
        return args


measures = typer.Typer(cls=_Bench, invoke_without_command=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.add_typer(measures, name="bench")


@measures.callback(
    epilog=examples(
        "mainspring bench --quick --contender mainspring",
        "mainspring bench --measure throughput",
        "mainspring bench locks --store postgresql://localhost/mainspring",
    )
)
def bench(context: typer.Context) -> None:
    """Measure Mainspring against its peers; from a checkout of the repository, with the flags of its benchmarks.

    `bench locks` measures the locks of a store, wherever it is.
    """
    if context.invoked_subcommand is not None:
        return
    root = checkout()
    if root is None:
        raise ConfigurationError("the benchmarks are part of the repository: check it out, and type 'make bench' there")
    ended = subprocess.run([sys.executable, "-m", "benchmarks", *context.args], cwd=root, check=False)  # noqa: S603 - it is ours
    raise typer.Exit(ended.returncode)


@measures.command(
    LOCKS,
    epilog=examples(
        "mainspring bench locks --threads 16 --duration 10",
        "CASS_CONTACT=127.0.0.1 THREADS=8 DURATION_SECONDS=10 mainspring bench locks",
    ),
)
@with_settings(Part.STORE)
def bench_locks(
    settings: Settings,
    *,
    contact: Annotated[
        str | None,
        typer.Option(envvar="CASS_CONTACT", metavar="HOST", help="A Cassandra node, instead of --store."),
    ] = None,
    port: Annotated[int, typer.Option(envvar="CASS_PORT", min=1, max=65_535, help="Its port.")] = 9042,
    keyspace: Annotated[str, typer.Option(envvar="CASS_KEYSPACE", metavar="NAME", help="Its keyspace.")] = "mainspring",
    threads: Annotated[int, typer.Option(envvar="THREADS", min=1, help="How many take locks at the same time.")] = 8,
    duration: Annotated[float, typer.Option(envvar="DURATION_SECONDS", min=0.1, help="For how many seconds.")] = 5,
    ttl: Annotated[
        float, typer.Option(envvar="TTL_SECONDS", min=0.1, help="How long a lock is good, in seconds.")
    ] = 30,
    prefix: Annotated[
        str, typer.Option(envvar="RESOURCE_PREFIX", metavar="NAME", help="What the locks' names begin with.")
    ] = "bench",
    names: Annotated[
        int | None,
        typer.Option(min=1, help="For how many locks they compete.", show_default="half as many as take them"),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Take and give back locks as fast as the store can; exit with 1 if a fence came twice or didn't grow."""
    from mainspring.cli.lock_bench import Terms  # noqa: PLC0415 - imported when it is needed
    from mainspring.cli.printing import Printer  # noqa: PLC0415
    from mainspring.wiring.loops import run_loop  # noqa: PLC0415

    terms = Terms(
        holders=threads,
        names=names or max(threads // 2, 1),
        duration=timedelta(seconds=duration),
        ttl=timedelta(seconds=ttl),
        prefix=prefix,
    )
    url = settings.store_url if contact is None else f"cassandra://{contact}:{port}/{keyspace}"
    measured = run_loop(_measure_locks(url, terms))
    Printer(as_json=as_json).answer(_figures(measured), _sentences(measured))
    if not measured.sound:
        raise typer.Exit(1)


async def _measure_locks(url: str, terms: "Terms") -> "Measured":
    from mainspring.adapters.system.chance import SystemRandom  # noqa: PLC0415 - imported when it is needed
    from mainspring.adapters.system.clock import SystemClock  # noqa: PLC0415
    from mainspring.cli.lock_bench import measure  # noqa: PLC0415
    from mainspring.wiring.stores import open_store  # noqa: PLC0415

    store = await open_store(url, clock=SystemClock(), random=SystemRandom())
    try:
        return await measure(store.locks, terms)
    finally:
        await store.close()


def _figures(measured: "Measured") -> dict[str, Any]:
    from mainspring.cli.lock_bench import percentile  # noqa: PLC0415 - imported when it is needed

    return {
        "acquisitions": len(measured.acquired),
        "acquisitions_per_second": round(measured.rate, 1),
        "refused": measured.refused,
        "lost": measured.lost,
        "errors": measured.errors,
        **{
            f"{verb}_{name}_ms": round(percentile(times, share), 3)
            for verb, times in (("acquire", measured.acquired), ("release", measured.released))
            for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
        },
        "locks": len(measured.fences),
        "fences_grow": measured.sound,
    }


def _sentences(measured: "Measured") -> str:
    found = _figures(measured)
    verbs = "\n".join(
        f"{verb:8} p50 {found[f'{verb}_p50_ms']:9.3f} ms   p95 {found[f'{verb}_p95_ms']:9.3f} ms   "
        f"p99 {found[f'{verb}_p99_ms']:9.3f} ms   max {found[f'{verb}_max_ms']:9.3f} ms"
        for verb in ("acquire", "release")
    )
    verdict = "unique and growing" if measured.sound else "NOT unique and growing: nothing is safe behind this store"
    return (
        f"{found['acquisitions']} acquisitions of {found['locks']} locks in {measured.seconds:.1f} s: "
        f"{found['acquisitions_per_second']}/s\n{verbs}\n"
        f"{found['refused']} refused, {found['lost']} lost, {found['errors']} errors; fences {verdict}"
    )


def checkout() -> Path | None:
    """The repository that this package is run from, if it is."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "benchmarks" / "__main__.py").is_file() else None
