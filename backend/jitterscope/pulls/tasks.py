"""The worker's visits to pull requests."""

from __future__ import annotations

from jitterscope import worker
from jitterscope.db import each_organization
from jitterscope.pulls import refresh


@worker.periodic(seconds=30, name="pulls.visit")
def visit() -> None:
    """States at the hosts, and verdicts as comments. Safe to run twice: each look is claimed by its time."""
    each_organization("pull requests", refresh.visit)
