"""When a resource was last throttled, so that the explorer can list those first."""

from __future__ import annotations

from alembic import op

revision = "20261121_1040"
down_revision = "20261121_1030"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("ALTER TABLE resources ADD COLUMN throttled_at timestamptz")
    op.execute("CREATE INDEX resources_by_name ON resources (organization_id, name, id)")


def downgrade() -> None:
    op.execute("DROP INDEX resources_by_name")
    op.execute("ALTER TABLE resources DROP COLUMN throttled_at")
