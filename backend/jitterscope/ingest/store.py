"""The ledger of batches in the database."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

# A second transaction with the same key waits here until the first ends, and then sees whether it committed.
_LEDGER = text(
    "INSERT INTO ingest_batches (organization_id, spool_id, sequence, sealed_at_us) "
    "VALUES (:organization, :spool, :sequence, :sealed) ON CONFLICT DO NOTHING RETURNING 1"
)


def add_batch(session: Session, organization_id: int, spool_id: bytes, sequence: int, sealed_at_us: int) -> bool:
    """Enter a batch into the ledger; False if it is there already."""
    key = {"organization": organization_id, "spool": spool_id, "sequence": sequence, "sealed": sealed_at_us}
    return session.execute(_LEDGER, key).scalar() is not None
