"""Who makes a request, and what of the store it may see."""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from mainspring.api.headers import header
from mainspring.domain.ids import DEFAULT_OWNER
from mainspring.domain.task import ADMIN_HANDLERS
from mainspring.errors import Forbidden, Invalid, NotFound
from mainspring.ports.keys import Scope

OWNER_HEADER = "X-User-ID"
_OWNER = OWNER_HEADER.lower().encode()
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

    def check_handler(self, handler: str) -> None:
        """Forbidden for a handler that acts on what is everybody's: only an administrator may have it executed.

        Asked whenever an execution is made or let go by a request, and never again: a worker can't tell who asked.
        """
        if handler in ADMIN_HANDLERS and self.scope is not Scope.ADMIN:
            raise Forbidden(
                f"{handler} acts on what belongs to all owners: this needs a key with the scope {Scope.ADMIN}, "
                f"and yours has {self.scope}"
            )


def labelled(label: str | None) -> Caller:
    """The caller of an open API: whoever it says it is."""
    if label is None:
        return _ANYBODY
    if not 0 < len(label) <= _LONGEST_OWNER:
        raise Invalid(f"{OWNER_HEADER} must have 1 to {_LONGEST_OWNER} characters", field=OWNER_HEADER)
    return Caller(owner=label, named=True, isolated=False, scope=Scope.ADMIN, actor=label)


async def _caller_of(request: Request) -> Caller:
    """As a coroutine function, since the framework would call any other in a thread of its own."""
    return caller_of_scope(request.scope)


def caller_of_scope(request_scope: MutableMapping[str, Any]) -> Caller:
    """The caller as its credentials say, or as it says itself where the API is open."""
    known: Caller | None = request_scope.get(_STATE)
    return labelled(header(request_scope, _OWNER)) if known is None else known


_ANYBODY = Caller(owner=DEFAULT_OWNER, named=False, isolated=False, scope=Scope.ADMIN, actor="anonymous")


def remember(request_scope: MutableMapping[str, Any], caller: Caller) -> None:
    """Note who was authenticated, for `caller_of_scope`."""
    request_scope[_STATE] = caller


def is_known(request_scope: Mapping[str, object]) -> bool:
    """Whether the request has shown a valid key."""
    return _STATE in request_scope


Requester = Annotated[Caller, Depends(_caller_of)]
