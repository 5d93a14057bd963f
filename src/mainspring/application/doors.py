"""The ways from a task to where it runs: a server or a store here, something of their own in tests."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from mainspring.application.portal import Portal
from mainspring.client import Client, NewJob

if TYPE_CHECKING:
    from mainspring.application.task import Task


class Door(Protocol):
    """Takes submissions and hands out results, each for callers with a loop and without."""

    async def submit(self, task: "Task[..., Any, Any]", job: NewJob) -> UUID:
        """Take a job in, and return its id."""
        ...

    def submit_blocking(self, task: "Task[..., Any, Any]", job: NewJob) -> UUID:
        """The same, for callers without a loop."""
        ...

    async def result(self, job_id: UUID, at_most: timedelta | None) -> Any:
        """What the job's function returned, as JSON knows it; errors as of `Client.result`."""
        ...

    def result_blocking(self, job_id: UUID, at_most: timedelta | None) -> Any:
        """The same, for callers without a loop."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class ClientDoor:
    """To whatever a client reaches."""

    def __init__(self, portal: Portal[Client]) -> None:
        self._portal = portal

    async def submit(self, task: "Task[..., Any, Any]", job: NewJob) -> UUID:  # noqa: ARG002 - the job says it all
        """Return once the job is stored."""
        return (await self._portal.call(lambda client: client.submit_new(job))).id

    def submit_blocking(self, task: "Task[..., Any, Any]", job: NewJob) -> UUID:  # noqa: ARG002 - the same
        """Return once the job is stored."""
        return self._portal.call_blocking(lambda client: client.submit_new(job)).id

    async def result(self, job_id: UUID, at_most: timedelta | None) -> Any:
        """Wait for it."""
        return await self._portal.call(lambda client: client.result(job_id, timeout=at_most))

    def result_blocking(self, job_id: UUID, at_most: timedelta | None) -> Any:
        """Wait for it."""
        return self._portal.call_blocking(lambda client: client.result(job_id, timeout=at_most))

    def close(self) -> None:
        """Close the connection, which the next call would open again."""
        self._portal.close()
