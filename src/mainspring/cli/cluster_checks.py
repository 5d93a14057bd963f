"""What `doctor` asks the API: health, pipes, clocks, workers, the lanes that they serve, and dead letters."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mainspring.cli.columns import instant_of
from mainspring.cli.findings import Finding, fail, ok, warn
from mainspring.cli.server import Server

SKEW = timedelta(seconds=2)
"""Clocks that differ by more than this confuse people; the store's alone decides what is due."""
MOST_JOBS = 1000


async def checked(server: Server) -> Sequence[Finding]:
    """All of them."""
    asked_at = datetime.now(UTC)
    health = await server.health()
    middle = asked_at + (datetime.now(UTC) - asked_at) / 2
    if health.get("status") not in {"healthy", "degraded"}:
        detail = health.get("database", {}).get("detail", "no reason given")
        return [fail("health", f"{server.place} says that its store is away: {detail}", "see to the store")]
    found = [*_health(health), *_pipes(health), _clock(health, middle)]
    workers = [each async for each in server.listed("/workers", None)]
    found += [_workers(workers), *[each async for each in _lanes(server, workers)], _dead(health)]
    return found


def _health(health: Mapping[str, Any]) -> Iterator[Finding]:
    troubles = health.get("troubles") or ()
    for trouble in troubles:
        yield warn(trouble["subject"], trouble["detail"], "give it what it lacks; no restart is needed")
    if not troubles:
        yield ok("health", "the API answers, and its store")


def _pipes(health: Mapping[str, Any]) -> Iterator[Finding]:
    """Each server beside the store, as the API's process sees it, with all that it is for."""
    servers: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for pipe in health.get("pipes") or ():
        servers.setdefault((pipe["url"], pipe["status"]), []).append(pipe)
    for (url, status), pipes in servers.items():
        subject = ", ".join(pipe["purpose"] for pipe in pipes)
        if status == "up":
            yield ok(subject, f"{url} answers")
        else:
            text = f"{pipes[0]['detail'] or url}, since {pipes[0]['since']}"
            yield warn(subject, text, "start it, or correct its URL; the store serves meanwhile")


def _clock(health: Mapping[str, Any], now: datetime) -> Finding:
    store_time = instant_of(health.get("database", {}).get("time"))
    if store_time is None:
        return warn("clock", "the server doesn't say what time it is", "upgrade it")
    skew = (now - store_time) / timedelta(seconds=1)
    if abs(skew) > SKEW.total_seconds():
        return warn("clock", f"this machine's differs from the store's by {skew:+.1f} s", "let NTP set both")
    return ok("clock", "this machine's agrees with the store's")


def _workers(workers: Sequence[Mapping[str, Any]]) -> Finding:
    if not workers:
        step = "start one with 'mainspring serve' or 'mainspring worker'"
        return warn("workers", "none is alive, so nothing is executed", step)
    limit = SKEW / timedelta(milliseconds=1)
    skewed = [each for each in workers if abs(each.get("clock_skew_ms", 0)) > limit]
    if skewed:
        names = ", ".join(f"{each['id']} by {each['clock_skew_ms'] / 1000:+.1f} s" for each in skewed)
        return warn("workers", f"clocks differ from the store's: {names}", "let NTP set them")
    draining = [each["id"] for each in workers if each.get("status", "active") != "active"]
    if len(draining) == len(workers):
        text = f"all that are alive are draining, so nothing new is executed: {', '.join(draining)}"
        return warn("workers", text, f"let one go on with 'mainspring worker resume {draining[0]}'")
    busy, slots = sum(each["executing"] for each in workers), sum(each["capacity"] for each in workers)
    return ok("workers", f"{len(workers)} alive, {busy} of {slots} slots are busy")


async def _lanes(server: Server, workers: Sequence[Mapping[str, Any]]) -> AsyncIterator[Finding]:
    """Lanes in which jobs wait though nobody takes them; without any worker that goes without saying."""
    active = [each for each in workers if each.get("status", "active") == "active"]
    if not active:
        return
    served = {lane for each in active for lane in each.get("lanes", ())}
    waiting: dict[str, set[str]] = {}
    async for job in server.listed("/jobs", MOST_JOBS, status="SCHEDULED"):
        if job["lane"] not in served:
            waiting.setdefault(job["lane"], set()).add(job["handler"])
    for lane, handlers in sorted(waiting.items()):
        text = f"jobs for {', '.join(sorted(handlers))} wait in {lane!r}, which no live worker serves or takes from"
        yield warn("lanes", text, "start a worker that has these handlers, or edit the jobs' lane")
    if not waiting:
        yield ok("lanes", f"every lane in which the newest jobs wait is served: {', '.join(sorted(served))}")


def _dead(health: Mapping[str, Any]) -> Finding:
    number = health.get("queue", {}).get("dead_letters", 0)
    if number:
        return warn("dead letters", f"{number:,} wait for a decision", "see 'mainspring dead list'")
    return ok("dead letters", "none")
