"""Who makes a request, and what of the store it may see."""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from mainspring.domain.ids import DEFAULT_OWNER
from mainspring.errors import Invalid, NotFound
from mainspring.ports.keys import Scope

OWNER_HEADER = "X-User-ID"
_LONGEST_OWNER = 200
_STATE = "mainspring.caller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody with a key sees only what is its owner's; without keys the owner is just a label."""

    owner: str
    """What new jobs are given to."""
    named: bool
    """Whether somebody said so: lists are then of this owner only."""
    isolated: bool
    """Whether what belongs to others doesn't exist for this caller."""
    scope: Scope
    actor: str
    """Who the audit names."""

    @property
    def visible(self) -> str | None:
        """The owner that lists are about; None for everybody's."""
        return self.owner if self.isolated or self.named else None

    def check(self, owner: str, what: str) -> None:
        """NotFound for what belongs to somebody else: its existence is nobody else's business."""
        if self.isolated and owner != self.owner:
            raise NotFound(f"there is no {what}")


def labelled(request: Request) -> Caller:
    """The caller of an open API: whoever it says it is."""
    label = request.headers.get(OWNER_HEADER)
    if label is not None and not 0 < len(label) <= _LONGEST_OWNER:
        raise Invalid(f"{OWNER_HEADER} must have 1 to {_LONGEST_OWNER} characters", field=OWNER_HEADER)
    owner = label or DEFAULT_OWNER
    return Caller(owner=owner, named=label is not None, isolated=False, scope=Scope.ADMIN, actor=label or "anonymous")


def caller_of(request: Request) -> Caller:
    """The caller as its credentials say, or as it says itself where the API is open."""
    known: Caller | None = request.scope.get(_STATE)
    return labelled(request) if known is None else known


def remember(request_scope: MutableMapping[str, Any], caller: Caller) -> None:
    """Note who was authenticated, for `caller_of`."""
    request_scope[_STATE] = caller


Requester = Annotated[Caller, Depends(caller_of)]
