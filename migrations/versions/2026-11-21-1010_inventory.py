"""Resources, their facts with history, collectors and what their sources can measure."""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261121_1010"
down_revision = "20261121_1000"
depends_on = None
branch_labels = None

ORGANIZATION = "organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE"

TABLES = f"""
CREATE TABLE resources (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {ORGANIZATION},
    kind text NOT NULL CHECK (kind IN ('node', 'cgroup', 'process', 'dns_server', 'dns_path', 'probe', 'external')),
    key text NOT NULL CHECK (length(key) BETWEEN 1 AND 512),
    -- What people call it; follows the facts.
    name text NOT NULL,
    -- 0: a node itself, or an external resource that belongs to none.
    node_id bigint NOT NULL DEFAULT 0,
    parent_id bigint REFERENCES resources (id) ON DELETE SET NULL,
    first_seen_at timestamptz NOT NULL DEFAULT now(), last_seen_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organization_id, node_id, kind, key)
) WITH (fillfactor = 85);
CREATE INDEX ON resources (parent_id);
CREATE INDEX ON resources (organization_id, kind, id);
CREATE TABLE facts (
    {ORGANIZATION}, resource_id bigint NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 128), since_us bigint NOT NULL, value text NOT NULL,
    PRIMARY KEY (resource_id, name, since_us)
);
CREATE TABLE collectors (
    node_id bigint PRIMARY KEY REFERENCES resources (id) ON DELETE CASCADE, {ORGANIZATION},
    version text NOT NULL, spool_id bytea NOT NULL, first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    -- The newest batch: when the collector sealed it, and how long it took to get here.
    sealed_at_us bigint NOT NULL, delay_us bigint NOT NULL,
    batches bigint NOT NULL DEFAULT 1, dropped_batches bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX ON collectors (organization_id);
CREATE TABLE collector_sources (
    {ORGANIZATION}, node_id bigint NOT NULL REFERENCES resources (id) ON DELETE CASCADE, name text NOT NULL,
    state text NOT NULL CHECK (state IN ('active', 'degraded', 'unavailable')),
    detail text NOT NULL, needs text NOT NULL, updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (node_id, name)
) WITH (fillfactor = 70);
"""

NAMES = ("resources", "facts", "collectors", "collector_sources")


def upgrade() -> None:
    op.execute(TABLES)
    for table in NAMES:
        enable_tenant_rls(table)


def downgrade() -> None:
    for table in reversed(NAMES):
        op.execute(f"DROP TABLE {table}")
