"""Mutes that begin and end by the clock."""

from __future__ import annotations

from jitterscope import worker
from jitterscope.db import each_organization
from jitterscope.incidents.mutes import service


@worker.periodic(seconds=10, name="incidents.visit_mutes")
def visit_mutes() -> None:
    """Apply weekly hours that begin and mutes that expire. Suppressing a message does not wait for this."""
    each_organization("mutes", service.visit)
