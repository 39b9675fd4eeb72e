"""The shape of a setup."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jitterscope.kit.schema import Schema

# Where the secret of an ingest token belongs in a text.
TOKEN = "INGEST_TOKEN"  # noqa: S105


class Setup(Schema):
    """How to set up a program to send here."""

    name: str
    title: str
    sends: Literal["ticks", "metrics"] = Field(
        description="ticks: a collector, whose data is searched for causes; metrics: samples by remote write"
    )
    file: str = Field(description="Where the text belongs")
    text: str = Field(description="INGEST_TOKEN stands for the secret of an ingest token")
    next: str = Field(description="What to do next")


class Setups(Schema):
    """Setups of all programs, and the address that is in them."""

    server: str = Field(description="URL of this service, as in the texts")
    only_here: str | None = Field(
        description="Why other machines cannot reach that URL, and how to change it; null: it is not a loopback address"
    )
    items: list[Setup]
