"""If-Match on a one-shot job, when somebody else changes it between the look and the order."""

from dataclasses import replace
from typing import Any

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.ports import ApiPorts
from mainspring.domain.ids import RunId
from mainspring.domain.outcome import Succeeded
from mainspring.ports.work import Edit, Order, Steered
from tests.api.calling import JOBS, Api, claimed, executed, settled

ORDERS = [("POST", "/pause"), ("POST", "/resume"), ("DELETE", ""), ("PUT", "")]


class Interference:
    """`Work` that does something else just before its next order."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.first: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store.work, name)

    async def steer(self, run: RunId, order: Order) -> Steered:
        first, self.first = self.first, None
        if first is not None:
            await first(run)
        return await self._store.work.steer(run, order)

    async def edit(self, run: RunId) -> None:
        await self._store.work.steer(run, Edit(name="edited meanwhile"))


@pytest.fixture
def work(store: SqliteStore) -> Interference:
    return Interference(store)


@pytest.fixture
def ports(ports: ApiPorts, work: Interference) -> ApiPorts:
    return replace(ports, work=work)


def body(method: str) -> dict[str, Any]:
    return {"json": {"description": "new"}} if method == "PUT" else {}


async def one_shot(api: Api, suffix: str) -> tuple[str, dict[str, Any]]:
    """A job that waits, held if it is to be resumed."""
    job = await api.submitted(schedule="in 1h")
    path = f"{JOBS}/{job['id']}"
    if suffix == "/resume":
        job = await api.post(f"{path}/pause", 200)
    return path, job


@pytest.mark.parametrize(("method", "suffix"), ORDERS)
async def test_an_edit_just_before_the_order_fails_it(api: Api, work: Interference, method: str, suffix: str) -> None:
    path, job = await one_shot(api, suffix)
    work.first = work.edit
    headers = {"If-Match": f'"{job["version"]}"'}
    await api.ask(method, path + suffix, 412, headers=headers, **body(method))
    after = await api.get(path)
    assert (after["status"], after["name"], after["version"]) == (job["status"], "edited meanwhile", job["version"] + 1)


@pytest.mark.parametrize(("method", "suffix"), ORDERS)
async def test_whoever_names_no_version_is_not_troubled(api: Api, work: Interference, method: str, suffix: str) -> None:
    path, _ = await one_shot(api, suffix)
    work.first = work.edit
    await api.ask(method, path + suffix, 204 if method == "DELETE" else 200, **body(method))


async def test_a_job_that_was_edited_and_ended_meanwhile_is_not_deleted(
    api: Api, store: SqliteStore, work: Interference
) -> None:
    job = await api.submitted()
    path = f"{JOBS}/{job['id']}"

    async def edit_and_end(run: RunId) -> None:
        await work.edit(run)
        await executed(store, Succeeded())

    work.first = edit_and_end
    await api.ask("DELETE", path, 412, headers={"If-Match": '"1"'})
    assert (await api.get(path))["status"] == "COMPLETED"
    await api.ask("DELETE", path, 204, headers={"If-Match": '"2"'})


async def test_a_job_that_only_ran_meanwhile_is_deleted(api: Api, store: SqliteStore, work: Interference) -> None:
    job = await api.submitted()

    async def end(_run: RunId) -> None:
        await settled(store, await claimed(store), Succeeded())

    work.first = end
    await api.ask("DELETE", f"{JOBS}/{job['id']}", 204, headers={"If-Match": '"1"'})
    await api.ask("GET", f"{JOBS}/{job['id']}", 404)


async def test_a_job_that_is_never_left_alone_is_given_up(api: Api, work: Interference) -> None:
    path, _ = await one_shot(api, "")

    async def edit_again(run: RunId) -> None:
        await work.edit(run)
        work.first = edit_again

    work.first = edit_again
    problem = await api.post(f"{path}/pause", 503)
    assert "try again" in problem["detail"]
