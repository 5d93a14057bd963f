"""API keys as the wire shows them."""

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from mainspring.api.requests import Label, Strict
from mainspring.api.schemas.base import Identity, Instant, Page, Shape
from mainspring.ports.keys import Scope

LONGEST_LIFE_MS = 10 * 366 * 24 * 3600 * 1000


class KeyRequest(Strict):
    """A key to be made."""

    model_config = ConfigDict(json_schema_extra={"example": {"name": "the importer", "scope": "write"}})

    name: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    scope: Annotated[Scope, Field(strict=False, description="What it allows, each with the one before.")] = Scope.WRITE
    owner: Annotated[Label | None, Field(description="Whose jobs it is for; yours unless said otherwise.")] = None
    expires_in_ms: Annotated[int, Field(ge=1, le=LONGEST_LIFE_MS)] | None = None


class Key(Shape):
    """A key without its secret."""

    id: Identity
    owner: str
    name: str
    scope: Scope
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    last_used_at: Annotated[Instant | None, Field(description="To the minute.")]
    valid: Annotated[bool, Field(description="Whether it was neither revoked nor has expired.")]


class NewKey(Key):
    """A key with its secret."""

    key: Annotated[str, Field(description="Shown this once: only a hash of it is kept.")]


class KeyList(Page[Key]):
    """All keys, newest first."""
