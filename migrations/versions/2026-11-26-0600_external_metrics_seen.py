"""When the metadata of a metric was last received: it expires like the metric's series."""

from __future__ import annotations

from alembic import op

revision = "20261126_0600"
down_revision = "20261126_0540"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("ALTER TABLE external_metrics ADD COLUMN last_seen_at timestamptz NOT NULL DEFAULT now()")


def downgrade() -> None:
    op.execute("ALTER TABLE external_metrics DROP COLUMN last_seen_at")
