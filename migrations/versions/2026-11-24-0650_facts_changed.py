"""A collector's row says when a fact of its node changed last: an incident without news need not be visited."""

from __future__ import annotations

from alembic import op

revision = "20261124_0650"
down_revision = "20261124_0640"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("ALTER TABLE collectors ADD COLUMN facts_changed_at timestamptz NOT NULL DEFAULT now()")


def downgrade() -> None:
    op.execute("ALTER TABLE collectors DROP COLUMN facts_changed_at")
