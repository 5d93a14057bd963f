"""What all shapes have in common."""

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2030-01-31T09:00:00Z"])]
Identity = Annotated[
    str, Field(json_schema_extra={"format": "uuid"}, examples=["01985c5e-7a53-7cc1-8f2b-3c1d5e9a0b47"])
]


class Shape(BaseModel):
    """An answer: nothing is in it that isn't described."""

    model_config = ConfigDict(extra="forbid")


class Page(Shape, Generic[Item]):
    """A page of a list, newest first."""

    items: list[Item]
    next: Annotated[str | None, Field(description="The cursor of the next page; null if there is none.")]


class Fault(Shape):
    """What is wrong with one field."""

    field: str
    detail: str


class Problem(BaseModel):
    """Why a request failed (RFC 9457), and what would be right."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "about:blank",
                "title": "The request isn't valid",
                "status": 422,
                "detail": "priority: input should be less than or equal to 100",
                "error": "invalid",
                "errors": [{"field": "priority", "detail": "input should be less than or equal to 100"}],
            }
        }
    )

    type: str
    title: str
    status: int
    detail: str
    error: Annotated[str, Field(description="A short code that programs can rely on.")]
    field: Annotated[str | None, Field(description="The field or parameter that is wrong.")] = None
    errors: list[Fault] | None = None
