"""The ports that the API is given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mainspring.api.measurements import Measurements
from mainspring.domain.ids import Lane
from mainspring.ports.audit import Audit
from mainspring.ports.blobs import Blobs
from mainspring.ports.changes import Changes
from mainspring.ports.checkup import Checkup
from mainspring.ports.keys import Keys
from mainspring.ports.locks import Locks
from mainspring.ports.output import Output
from mainspring.ports.pipes import Pipe
from mainspring.ports.sessions import Sessions
from mainspring.ports.time import Clock, Random
from mainspring.ports.timetable import Timetable
from mainspring.ports.tracing import UNTRACED, Tracing
from mainspring.ports.views import Views
from mainspring.ports.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPorts:
    """What every endpoint may use."""

    work: Work
    timetable: Timetable
    views: Views
    sessions: Sessions
    blobs: Blobs
    output: Output
    keys: Keys
    locks: Locks
    audit: Audit
    changes: Changes
    clock: Clock
    random: Random
    checkup: Checkup | None = None
    """What the store says about its own health, if it has anything to say."""
    builtin: Mapping[str, Lane] = field(default_factory=dict)
    """Handlers that come with every worker, known before the first worker came."""
    switchable: Mapping[str, str] = field(default_factory=dict)
    """Those of them that a worker's settings may switch off, each with what is said where every live worker does."""
    measurements: Measurements = field(default_factory=Measurements)
    """What this process measures about itself, in all its roles."""
    tracing: Tracing = UNTRACED
    pipes: Callable[[], Sequence[Pipe]] = lambda: ()
    """What stands beside the store, as this process knows it."""
    full: Callable[[], str | None] = lambda: None
    """Why the store takes no more, while it has no room."""
    crowded: Callable[[], str | None] = lambda: None
    """What to tell people while this process has no room for another connection."""
    ready: Callable[[], bool] = lambda: True
    """Whether everything in this process is up."""
    ending: Callable[[], bool] = lambda: False
    """Whether this process is about to end: streams end with it."""
