"""Lists of Explore as members saved them."""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261125_1615"
down_revision = "20261125_1541"
depends_on = None
branch_labels = None

# With its owner's membership a view ends, shared or not: those who stay save what they need.
TABLE = """
CREATE TABLE saved_views (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE, owner_id bigint NOT NULL,
    page text NOT NULL, name text NOT NULL, search text NOT NULL, shared boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (organization_id, owner_id) REFERENCES memberships (organization_id, user_id) ON DELETE CASCADE
);
CREATE INDEX ON saved_views (organization_id, id);
CREATE INDEX ON saved_views (owner_id);
"""


def upgrade() -> None:
    op.execute(TABLE)
    enable_tenant_rls("saved_views")


def downgrade() -> None:
    op.execute("DROP TABLE saved_views")
