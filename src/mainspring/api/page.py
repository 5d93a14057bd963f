"""`/`: one page that shows what is going on. Rendered here, refreshed by the browser, without a line of script."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from html import escape
from importlib import resources
from string import Template

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from mainspring.api.caller import Caller, Requester
from mainspring.api.figures import shown_figures
from mainspring.api.ports import ApiPorts
from mainspring.api.representation import duration_ms, one_shot
from mainspring.api.words import execution_word, job_word
from mainspring.domain.run import Run
from mainspring.errors import MainspringError
from mainspring.ports.sessions import Member, Role
from mainspring.ports.views import Cursor, Figures, JobFilter, JobRecord, RunFilter
from mainspring.version import __version__

ROWS = 25
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
_TEMPLATE = Template((resources.files(__package__) / "page.html").read_text("utf-8"))


def page_router(ports: ApiPorts) -> APIRouter:
    """The page over *ports*."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page(caller: Requester) -> HTMLResponse:
        try:
            content = await _content(ports, caller)
        except MainspringError as error:
            return HTMLResponse(_TEMPLATE.substitute(_blank(str(error))), 503, _HEADERS)
        return HTMLResponse(_TEMPLATE.substitute(content), headers=_HEADERS)

    return router


async def _content(ports: ApiPorts, caller: Caller) -> dict[str, str]:
    now = await ports.views.now()
    figures = await ports.views.figures()
    jobs = await ports.views.jobs(JobFilter(owner=caller.visible), Cursor(limit=ROWS))
    runs = await ports.views.runs(RunFilter(owner=caller.visible), Cursor(limit=ROWS))
    workers = await ports.sessions.live(Role.WORKER)
    names = {record.job.id: record.job.name or record.job.task.handler for record in jobs.items}
    return {
        "version": __version__,
        "time": f"{now:%Y-%m-%d %H:%M:%S} UTC",
        "notice": "",
        "figures": "".join(_figures(figures, caller, workers)),
        "jobs": _rows((_job_row(record, now) for record in jobs.items), 5, "No jobs yet: POST one to /api/v1/jobs."),
        "runs": _rows((_run_row(run, names.get(run.job_id), now) for run in runs.items), 6, "Nothing has run yet."),
        "workers": _rows((_worker_row(member, now) for member in workers), 4, "No worker is alive."),
    }


def _blank(notice: str) -> dict[str, str]:
    empty = dict.fromkeys(("time", "figures", "jobs", "runs", "workers"), "")
    return {**empty, "version": __version__, "notice": f'<p class="notice">{escape(notice)}</p>'}


def _figures(figures: Figures, caller: Caller, workers: Sequence[Member]) -> Iterable[str]:
    shown = shown_figures(figures, caller, workers, ())
    for name, value in (
        ("waiting", shown["waiting"]),
        ("running", shown["running"]),
        ("completed", shown["totals"]["completed"]),
        ("failed", shown["totals"]["failed"]),
        ("dead letters", shown["dead_letters"]),
        ("workers", len(workers)),
    ):
        if value is not None:
            yield f"<div><b>{value:,}</b><span>{name}</span></div>"


def _job_row(record: JobRecord, now: datetime) -> Sequence[str]:
    job = record.job
    schedule = "now" if one_shot(record) and job.terms.schedule == "on-demand" else job.terms.schedule
    return (
        f'<a href="/api/v1/jobs/{job.id}">{escape(job.name or "unnamed")}</a>',
        escape(job.task.handler),
        f"<code>{escape(schedule)}</code>",
        _badge(job_word(job, record.run)),
        _relative(job.next_fire_at, now),
    )


def _run_row(run: Run, name: str | None, now: datetime) -> Sequence[str]:
    took = duration_ms(run)
    return (
        f'<a href="/api/v1/executions/{run.id}">{escape(name or run.name or run.task.handler)}</a>',
        _badge(execution_word(run.state)),
        _relative(run.due_at, now),
        "" if took is None else f"{took:,} ms",
        f"{escape(run.worker or '')}{f' · attempt {run.attempt}' if run.attempt > 1 else ''}",
        _why(run),
    )


def _worker_row(member: Member, now: datetime) -> Sequence[str]:
    return (
        escape(member.name),
        f"{member.executing} of {member.capacity}",
        escape(", ".join(member.lanes)),
        _relative(member.beat_at, now),
    )


def _why(run: Run) -> str:
    text = ": ".join(filter(None, (run.reason, (run.error or "").strip().rpartition("\n")[2])))
    return f'<span title="{escape(text)}">{escape(text[:120])}</span>'


def _badge(word: str) -> str:
    return f'<span class="badge {word.lower()}">{word.lower()}</span>'


def _relative(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return ""
    gap = abs(moment - now)
    for unit, name in ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min")):
        if gap >= unit:
            text = f"{gap // unit} {name}"
            break
    else:
        text = f"{gap.seconds} s"
    shown = f"in {text}" if moment > now else f"{text} ago"
    return f'<time datetime="{moment.isoformat()}" title="{moment.isoformat()}">{shown}</time>'


def _rows(rows: Iterable[Sequence[str]], columns: int, otherwise: str) -> str:
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return "".join(lines) or f'<tr><td colspan="{columns}" class="empty">{otherwise}</td></tr>'
