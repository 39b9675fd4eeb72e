"""Changes that pipelines report: deploys, settings, scalings."""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261125_1540"
down_revision = "20261124_2010"
depends_on = None
branch_labels = None

# What a change is of: each selector that is set must fit. `external_id` makes a report that is repeated one change.
UPGRADE = """
CREATE TABLE changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    at timestamptz NOT NULL,
    kind text NOT NULL CHECK (kind IN ('deploy', 'config', 'scale', 'other')),
    title text NOT NULL, version_from text, version_to text,
    resource_id bigint, namespace text, workload text, container text, node text,
    link text, author text, external_id text,
    reported_by text NOT NULL, reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (num_nonnulls(resource_id, namespace, workload, node) > 0),
    UNIQUE (organization_id, external_id)
);
CREATE INDEX ON changes (organization_id, at);
"""


def upgrade() -> None:
    op.execute(UPGRADE)
    enable_tenant_rls("changes")


def downgrade() -> None:
    op.execute("DROP TABLE changes")
