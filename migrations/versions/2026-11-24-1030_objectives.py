"""Latency objectives that people set for a workload, or for one port of it."""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261124_1030"
down_revision = "20261124_0650"
depends_on = None
branch_labels = None

# `workload` names what outlives its cgroups: see objectives/workloads.py. Port 0: all of them.
UPGRADE = """
CREATE TABLE objectives (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    workload text NOT NULL, port integer NOT NULL CHECK (port BETWEEN 0 AND 65535),
    quantile double precision NOT NULL CHECK (quantile > 0 AND quantile < 1),
    limit_us bigint NOT NULL CHECK (limit_us > 0),
    set_by text NOT NULL, set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (organization_id, workload, port)
);
"""


def upgrade() -> None:
    op.execute(UPGRADE)
    enable_tenant_rls("objectives")


def downgrade() -> None:
    op.execute("DROP TABLE objectives")
