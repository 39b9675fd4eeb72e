"""Repositories that hold the files of workloads, and the pull requests that were opened there for fixes."""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261125_2000"
down_revision = "20261125_1930"
depends_on = None
branch_labels = None

UPGRADE = """
CREATE TABLE repositories (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('github', 'gitlab')),
    url text NOT NULL, repository text NOT NULL, base_branch text NOT NULL,
    -- Patterns of workloads, and the file that has them: pulls.schemas.RepositoryFile.
    files jsonb NOT NULL DEFAULT '[]', token_sealed text NOT NULL,
    created_by text NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX repositories_organization ON repositories (organization_id, id);
CREATE TABLE pull_requests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    incident_id bigint NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    repository_id bigint REFERENCES repositories (id) ON DELETE SET NULL,
    fix_id text NOT NULL, fix_title text NOT NULL,
    kind text NOT NULL, repository text NOT NULL, branch text NOT NULL,
    -- opening: the host is being asked. All others are what the host said last.
    state text NOT NULL CHECK (state IN ('opening', 'open', 'merged', 'closed')),
    number bigint, url text,
    opened_by text NOT NULL, opened_at timestamptz NOT NULL DEFAULT clock_timestamp(), merged_at timestamptz,
    checked_at timestamptz, next_check_at timestamptz NOT NULL DEFAULT clock_timestamp(), last_error text,
    -- The verification whose verdict was commented last, and the attempts at the next one.
    told_verification_id bigint, comment_url text, comment_attempts integer NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX pull_requests_one_open ON pull_requests (organization_id, incident_id, fix_id)
    WHERE state IN ('opening', 'open');
CREATE INDEX pull_requests_incident ON pull_requests (incident_id, id);
CREATE INDEX pull_requests_repository ON pull_requests (repository_id);
CREATE INDEX pull_requests_due ON pull_requests (organization_id, next_check_at) WHERE state <> 'closed';
"""


def upgrade() -> None:
    op.execute(UPGRADE)
    for table in ("repositories", "pull_requests"):
        enable_tenant_rls(table)


def downgrade() -> None:
    op.execute("DROP TABLE pull_requests; DROP TABLE repositories")
