"""What organizations switched off, in the database."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from jitterscope.collection.models import CollectionPolicyRow


def off(session: Session) -> tuple[str, ...]:
    return tuple(session.scalar(select(CollectionPolicyRow.sources_off)) or ())
