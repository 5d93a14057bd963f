"""The OpenAPI document: what the framework knows of the routes, and the shapes that the routes name."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from mainspring.api.body import MAX_BODY, PATIENCE
from mainspring.api.dialects.lab_request import LabRequest
from mainspring.api.dialects.submit_request import SubmitRequest
from mainspring.api.document import MAX_DEPTH
from mainspring.api.operations import responses
from mainspring.api.requests import JobRequest
from mainspring.api.schemas import cluster, dead_letters, dialects, executions, jobs, keys
from mainspring.api.schemas.base import Problem
from mainspring.api.submitting import MAX_BATCH_BODY, PATH, submit_operation

_ABOUT = (
    "Lists are `{items, next}`, newest first; give `next` back as `cursor`. Times are RFC 3339 in UTC. Every error is "
    "a problem document (RFC 9457) whose `error` is a short code. Once an API key exists, send one as "
    "`Authorization: Bearer ms_live_…`; before that, `X-User-ID` may say whose jobs are meant. "
    "Paths outside of `/api/v1` say the same in other words. "
    f"A body has at most {MAX_BODY:,} bytes, a batch {MAX_BATCH_BODY:,}, nested {MAX_DEPTH} levels deep; it must "
    f"arrive within {PATIENCE:g} s. Keys, handlers, lanes, owners and holders have 1 to 200 characters."
)
TAKEN: tuple[type[BaseModel], ...] = (
    JobRequest,
    jobs.Batch,
    jobs.JobUpdate,
    dead_letters.RequeueRequest,
    dead_letters.DiscardRequest,
    cluster.PreviewRequest,
    cluster.Acquire,
    cluster.Renew,
    cluster.Release,
    keys.KeyRequest,
    LabRequest,
    SubmitRequest,
)
SHOWN: tuple[type[BaseModel], ...] = (
    Problem,
    jobs.Job,
    jobs.JobList,
    jobs.BatchAnswer,
    executions.Execution,
    executions.ExecutionList,
    executions.AttemptList,
    executions.Statistics,
    executions.Timeline,
    dead_letters.DeadLetterList,
    dead_letters.Requeued,
    cluster.Worker,
    cluster.WorkerList,
    cluster.HandlerList,
    cluster.Health,
    cluster.Metrics,
    cluster.Preview,
    cluster.Lock,
    cluster.LockList,
    cluster.AuditList,
    keys.KeyList,
    keys.Key,
    keys.NewKey,
    dialects.LabJob,
    dialects.LabRun,
    dialects.LabStats,
    dialects.LabWorkers,
    dialects.SubmittedJob,
    dialects.UserJob,
    dialects.UserJobs,
)
_EXAMPLES: dict[str, Any] = {
    "JobRequest": {
        "name": "report",
        "handler": "http.webhook",
        "payload": {"url": "https://example.com/report", "method": "POST"},
        "schedule": "0 6 * * 1-5",
        "timezone": "Europe/Berlin",
    },
    "Batch": {"jobs": [{"handler": "test.echo", "payload": 1}, {"handler": "test.echo", "schedule": "in 10s"}]},
    "RequeueRequest": {"handler": "http.webhook", "limit": 10},
}
_SECURITY = {"key": {"type": "http", "scheme": "bearer", "description": "An API key, once one exists."}}


def describe(app: FastAPI) -> None:
    """Let *app* give the whole document."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the framework's own way to replace it


def _document(app: FastAPI) -> dict[str, Any]:
    written = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
    written["paths"].setdefault(PATH, {})["post"] = submit_operation()
    for operation in (each for methods in written["paths"].values() for each in methods.values()):
        operation["responses"].update(_refusals(operation["responses"]))
    components = written.setdefault("components", {})
    components["schemas"] = {**components.get("schemas", {}), **_schemas()}
    for unused in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(unused, None)
    components["securitySchemes"] = _SECURITY
    written["security"] = [{}, {"key": []}]
    return written


def _refusals(answers: dict[str, Any]) -> dict[str, Any]:
    """What the framework describes in its own shape, in ours."""
    ours = responses(None, 204, ())[422]
    theirs = [code for code, each in answers.items() if "HTTPValidationError" in str(each.get("content"))]
    return dict.fromkeys(theirs, ours)


def _schemas() -> dict[str, Any]:
    wanted = [(model, "validation") for model in TAKEN] + [(model, "serialization") for model in SHOWN]
    _, definitions = models_json_schema(wanted, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    found: dict[str, Any] = definitions["$defs"]
    for name, example in _EXAMPLES.items():
        found[name]["example"] = example
    return found
