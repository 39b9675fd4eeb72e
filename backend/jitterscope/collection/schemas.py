"""REST shapes of what collectors may read."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, field_validator

from jitterscope.collection.switches import SWITCHES
from jitterscope.kit.schema import Schema


class SourceSwitch(Schema):
    id: str = Field(description="A collector's source, or SOURCE:OPTION of its configuration")
    title: str
    stops: str = Field(description="What collectors no longer read while this is off")
    off: bool


class Collection(Schema):
    """What collectors may read, and who last changed that; null if it was never changed."""

    switches: list[SourceSwitch]
    changed_by: str | None
    changed_at: datetime | None


class CollectionRequest(Schema):
    off: set[Annotated[str, Field(max_length=100)]] = Field(
        max_length=50, description="Ids of the switches to turn off; all others are turned on"
    )

    @field_validator("off")
    @classmethod
    def _known(cls, off: set[str]) -> set[str]:
        unknown = sorted(off - SWITCHES.keys())
        if unknown:
            raise ValueError(f"unknown switch {', '.join(unknown)}; use {', '.join(SWITCHES)}")
        return off
