"""REST shapes of saved views."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from jitterscope.kit.schema import Schema

ViewName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
# A path of the UI, without a host, so that a view cannot lead elsewhere.
Page = Annotated[str, StringConstraints(pattern=r"^/[a-z][a-z/-]{0,59}$")]
# The parameters as in the URL, with the question mark.
Search = Annotated[str, StringConstraints(pattern=r"^(\?[\x21-\x7e]{0,3999})?$")]


class SavedViewChange(Schema):
    name: ViewName
    search: Search = Field(description="The URL's parameters, starting with ?; empty: none", examples=["?q=dns"])
    shared: bool = Field(description="Visible to every member of the organization; otherwise only to its owner")


class SavedViewRequest(SavedViewChange):
    page: Page = Field(description="Path of a page of the UI", examples=["/services"])


class SavedView(SavedViewRequest):
    id: int
    owner: str | None = Field(description="The member who saved it")
    mine: bool = Field(description="Whether the caller saved it")
    may_change: bool = Field(description="Whether the caller may rename, share, and delete it")
    created_at: datetime
