"""Metadata of metrics of other systems in the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT
from sqlalchemy.orm import Session

_UPSERT = text(
    """
    INSERT INTO external_metrics (organization_id, name, type, help, unit)
    SELECT :organization, one.* FROM unnest(:names, :types, :helps, :units) AS one (name, type, help, unit)
     ORDER BY name
    ON CONFLICT (organization_id, name) DO UPDATE
       SET type = excluded.type, help = excluded.help, unit = excluded.unit, last_seen_at = now()
    """
).bindparams(*(bindparam(name, type_=ARRAY(TEXT)) for name in ("names", "types", "helps", "units")))
_OF = text("SELECT name, type, help, unit FROM external_metrics WHERE name = ANY(:names)").bindparams(
    bindparam("names", type_=ARRAY(TEXT))
)


def upsert(
    session: Session,
    organization_id: int,
    names: Sequence[str],
    types: Sequence[str],
    helps: Sequence[str],
    units: Sequence[str],
) -> None:
    """Store what senders say of metrics."""
    session.execute(
        _UPSERT,
        {
            "organization": organization_id, "names": list(names), "types": list(types), "helps": list(helps),
            "units": list(units),
        },
    )  # fmt: skip


def of(session: Session, names: Collection[str]) -> Sequence[Row[Any]]:
    """`name`, `type`, `help`, and `unit` of metrics that are known."""
    return session.execute(_OF, {"names": sorted(names)}).all()
