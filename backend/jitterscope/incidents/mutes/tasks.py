"""Mutes that begin and end by the clock."""

from __future__ import annotations

from jitterscope import worker
from jitterscope.db import each_organization
from jitterscope.incidents.mutes import service


@worker.periodic(seconds=10, name="incidents.visit_mutes")
def visit_mutes() -> None:
    """Weekly hours begin, and times pass. A message that a mute keeps back does not wait for this."""
    each_organization("mutes", service.visit)
