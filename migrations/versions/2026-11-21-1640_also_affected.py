"""Other subjects that the trouble of an incident reached at the same time."""

from __future__ import annotations

from alembic import op

revision = "20261121_1640"
down_revision = "20261121_1310"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("ALTER TABLE incidents ADD COLUMN also_affected jsonb NOT NULL DEFAULT '[]'")


def downgrade() -> None:
    op.execute("ALTER TABLE incidents DROP COLUMN also_affected")
