"""Analyses of evidence files and DNS load tests; the files themselves lie in the evidence folder."""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261121_1650"
down_revision = "20261121_1640"
depends_on = None
branch_labels = None

UPGRADE = """
CREATE TABLE analyses (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
    kind text, kind_title text, name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255), size_bytes bigint NOT NULL,
    -- Whether the file is still in the evidence folder, and until when.
    file_kept boolean NOT NULL, file_expires_at timestamptz,
    progress_ratio double precision NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0,
    created_by text NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz, heartbeat_at timestamptz, finished_at timestamptz,
    summary text, findings integer NOT NULL DEFAULT 0, report jsonb, problem jsonb,
    CHECK ((finished_at IS NULL) = (state IN ('queued', 'running')))
) WITH (fillfactor = 70);
CREATE INDEX analyses_newest ON analyses (organization_id, id DESC);
CREATE INDEX analyses_waiting ON analyses (organization_id, id) WHERE state IN ('queued', 'running');
CREATE INDEX analyses_kept ON analyses (organization_id, file_expires_at) WHERE file_kept;
"""


def upgrade() -> None:
    op.execute(UPGRADE)
    enable_tenant_rls("analyses")


def downgrade() -> None:
    op.execute("DROP TABLE analyses")
