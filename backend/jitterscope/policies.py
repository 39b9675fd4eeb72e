"""What an organization decided for all its members: one row of a table, with who changed it last and when."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from sqlalchemy import BigInteger, DateTime, Text, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, Mapped, Session, mapped_column


class Policy:
    """Columns of such a table. Without a row, the product's defaults apply."""

    organization_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    changed_by: Mapped[str] = mapped_column(Text)
    changed_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())


Row = TypeVar("Row", bound=Policy)
Value = TypeVar("Value")


def read(session: Session, table: type[Row]) -> Row | None:
    """The policy of the session's organization; None if it was never changed."""
    return session.scalars(select(table)).one_or_none()


def change(session: Session, column: InstrumentedAttribute[Value], usual: Value, wanted: Value, by: str) -> Value:
    """Set one column of a policy and return the value before: `usual` if there was no row."""
    table = column.class_
    # Concurrent changes: the second waits and sees what the first did.
    lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, :organization))")
    organization_id = session.info["organization_id"]
    session.execute(lock, {"name": table.__tablename__, "organization": organization_id})
    found = session.execute(select(column)).one_or_none()
    before = usual if found is None else found[0]
    if before != wanted:
        values = {column.key: wanted, "changed_by": by, "changed_at": func.clock_timestamp()}
        statement = insert(table).values(organization_id=organization_id, **values)
        session.execute(statement.on_conflict_do_update(index_elements=["organization_id"], set_=values))
    return before
