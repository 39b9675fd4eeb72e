"""Locks that make one worker at a time decide about incidents."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

# Our namespaces of advisory locks.
_SUBJECT = 0x6A6469  # "jdi"
_ORGANIZATION = 0x6A6470  # "jdp"


def lock_subject(session: Session, subject_id: int) -> None:
    """Wait until no other transaction is deciding about this subject; held until the end of the transaction."""
    _lock(session, f"subject {subject_id}", _SUBJECT)


def lock_organization(session: Session) -> None:
    """Wait until no other transaction is deciding which trouble is shared; held until the end of the transaction."""
    _lock(session, f"organization {session.info['organization_id']}", _ORGANIZATION)


def _lock(session: Session, name: str, namespace: int) -> None:
    session.execute(
        text("SELECT pg_advisory_xact_lock(hashtextextended(:name, :class))"), {"name": name, "class": namespace}
    )
