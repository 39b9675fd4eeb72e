"""REST shapes of ingest."""

from __future__ import annotations

from pydantic import Field

from jitterscope.kit.schema import Schema


class Stored(Schema):
    duplicate: bool = Field(description="This batch was already stored; nothing was stored now")
    too_old: int = Field(
        description="Blocks, histograms, facts, events, query blocks, and captures left out because they are too old"
    )
