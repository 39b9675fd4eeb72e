"""The worker's checks of pull requests."""

from __future__ import annotations

from jitterscope import worker
from jitterscope.db import each_organization
from jitterscope.pulls import refresh


@worker.periodic(seconds=30, name="pulls.visit")
def visit() -> None:
    """Update states from the hosts and post verdicts as comments. Safe to run twice: each check is claimed by time."""
    each_organization("pull requests", refresh.visit)
