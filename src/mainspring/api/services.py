"""What the endpoints share, put together once from the ports."""

from dataclasses import dataclass

from mainspring.api.editing import Editing
from mainspring.api.lanes import Lanes
from mainspring.api.ports import ApiPorts
from mainspring.api.quota import Quota
from mainspring.api.retrying import Retrying
from mainspring.api.steering import Steering
from mainspring.api.submission import Submissions
from mainspring.api.trail import Trail


@dataclass(frozen=True, slots=True)
class Services:
    """The rules behind the endpoints, none of which knows HTTP."""

    ports: ApiPorts
    submissions: Submissions
    steering: Steering
    editing: Editing
    retrying: Retrying
    trail: Trail

    @classmethod
    def over(cls, ports: ApiPorts, *, quota: int = 0) -> "Services":
        """All of them on *ports*; one owner has at most *quota* runs that wait or run, or any number with 0."""
        work, timetable, views, blobs = ports.work, ports.timetable, ports.views, ports.blobs
        clock, random, tracing = ports.clock, ports.random, ports.tracing
        lanes = Lanes(views, clock, builtin=ports.builtin, switchable=ports.switchable, sessions=ports.sessions)
        limit = Quota(quota, views, clock)
        return cls(
            ports=ports,
            submissions=Submissions(
                work=work,
                views=views,
                blobs=blobs,
                clock=clock,
                random=random,
                quota=limit,
                lanes=lanes,
                tracing=tracing,
            ),
            steering=Steering(
                work=work, timetable=timetable, views=views, clock=clock, random=random, quota=limit, tracing=tracing
            ),
            editing=Editing(work=work, timetable=timetable, views=views, blobs=blobs, lanes=lanes),
            retrying=Retrying(work=work, views=views, clock=clock, random=random, quota=limit, tracing=tracing),
            trail=Trail(ports.audit),
        )
