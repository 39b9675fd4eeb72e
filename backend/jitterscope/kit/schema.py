"""Base of every REST schema: strict in, complete out (a default counts as required in the response schema)."""

from __future__ import annotations

from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict


class Schema(BaseModel):
    model_config = ConfigDict(extra="forbid", from_attributes=True, json_schema_serialization_defaults_required=True)


Item = TypeVar("Item")


class Page(Schema, Generic[Item]):
    """A page of a list. `next_cursor` is opaque; null on the last page."""

    items: list[Item]
    next_cursor: str | None
