"""What followers are told, made from entries of the log and from what they lead to."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import JobId
from mainspring.domain.run import State
from mainspring.ports.changes import Count


def latest(entries: Sequence[Row]) -> Sequence[Row]:
    """The last entry of each run and job, in the order in which they changed."""
    ordered = sorted(entries, key=lambda row: (number(row, "at"), number(row, "fence"), number(row, "state")))
    last: dict[UUID, Row] = {}
    for row in ordered:
        last.pop(identity(row, "id"), None)
        last[identity(row, "id")] = row
    return list(last.values())


def watched_only(entries: Sequence[Row], watched: Sequence[JobId]) -> Sequence[Row]:
    """Those of the jobs that somebody looks at."""
    wanted = set(watched)
    return [row for row in entries if row["id"] in wanted or row["job_id"] in wanted]


def counts(entries: Sequence[Row]) -> Mapping[str, Count]:
    """How much has changed, by owner."""
    runs: dict[str, dict[State, int]] = {}
    jobs: dict[str, int] = {}
    for row in entries:
        owner = text(row, "owner")
        if row["standing"]:
            jobs[owner] = jobs.get(owner, 0) + 1
        else:
            states, state = runs.setdefault(owner, {}), State(number(row, "state"))
            states[state] = states.get(state, 0) + 1
    return {owner: Count(runs=runs.get(owner, {}), jobs=jobs.get(owner, 0)) for owner in sorted({*runs, *jobs})}
