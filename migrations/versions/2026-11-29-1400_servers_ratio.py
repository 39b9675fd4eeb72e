"""How many times as many servers share the load since a verified change."""

from __future__ import annotations

from alembic import op

revision = "20261129_1400"
down_revision = "20261128_2359"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("ALTER TABLE verifications ADD COLUMN servers_ratio double precision NOT NULL DEFAULT 1")


def downgrade() -> None:
    op.execute("ALTER TABLE verifications DROP COLUMN servers_ratio")
