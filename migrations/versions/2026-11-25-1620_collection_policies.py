"""What organizations switched off of what collectors read."""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261125_1620"
down_revision = "20261125_1616"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE collection_policies ("
        "organization_id bigint PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE, "
        "sources_off text[] NOT NULL, changed_by text NOT NULL, "
        "changed_at timestamptz NOT NULL DEFAULT clock_timestamp())"
    )
    enable_tenant_rls("collection_policies")


def downgrade() -> None:
    op.execute("DROP TABLE collection_policies")
