"""The area of pod starts is called pods: what is stored of its causes follows."""

from __future__ import annotations

from alembic import op

revision = "20261123_1145"
down_revision = "20261121_2020"
depends_on = None
branch_labels = None

# What is stored as JSON with ids of causes in it. The history (audit trail, outbox) stays as it was said.
_COLUMNS = (("incidents", "finding"), ("incidents", "not_enough_data"), ("risks", "finding"))


def upgrade() -> None:
    _rename("startup/", "pods/")


def downgrade() -> None:
    _rename("pods/", "startup/")


def _rename(old: str, new: str) -> None:
    for table in ("incidents", "risks"):
        op.execute(f"UPDATE {table} SET cause = '{new}' || substr(cause, {len(old) + 1}) WHERE cause LIKE '{old}%'")
    for table, column in _COLUMNS:
        op.execute(
            f"UPDATE {table} SET {column} = replace({column}::text, '\"{old}', '\"{new}')::jsonb"
            f" WHERE {column}::text LIKE '%\"{old}%'"
        )
