"""When a merged pull request was told that no data shows it landing."""

from __future__ import annotations

from alembic import op

revision = "20261125_2130"
down_revision = "20261125_2000"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("ALTER TABLE pull_requests ADD COLUMN reminded_at timestamptz")


def downgrade() -> None:
    op.execute("ALTER TABLE pull_requests DROP COLUMN reminded_at")
