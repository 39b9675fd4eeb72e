"""Housekeeping: deletes ended sessions and old invitations."""

from __future__ import annotations

from jitterscope.tenancy.store import signing_in
from jitterscope.worker import periodic


@periodic(seconds=3600)
def expire_sessions() -> None:
    """Delete what has ended."""
    signing_in.expire()
