"""Deliveries that stand for others: the summary of messages above what an organization may send in an hour."""

from __future__ import annotations

from alembic import op

revision = "20261126_0930"
down_revision = "20261126_0610"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("ALTER TABLE deliveries ADD COLUMN held_back integer")


def downgrade() -> None:
    op.execute("ALTER TABLE deliveries DROP COLUMN held_back")
