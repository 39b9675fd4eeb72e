"""Read-only links to incidents, and whether an organization allows them."""

from __future__ import annotations

from alembic import op

from migrations.helpers import definer_function, enable_tenant_rls

revision = "20261124_2010"
down_revision = "20261124_2000"
depends_on = None
branch_labels = None

UPGRADE = """
CREATE TABLE shared_links (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    incident_id bigint NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    token_hash bytea NOT NULL UNIQUE, hint text NOT NULL, created_by text NOT NULL,
    owner_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_id bigint REFERENCES tokens (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz NOT NULL,
    revoked_at timestamptz, last_used_at timestamptz,
    CHECK (expires_at <= created_at + interval '90 days')
);
CREATE INDEX ON shared_links (organization_id, id);
CREATE INDEX ON shared_links (incident_id, id);
CREATE INDEX ON shared_links (owner_id);
CREATE INDEX ON shared_links (token_id);
CREATE TABLE sharing_policies (
    organization_id bigint PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    links_allowed boolean NOT NULL, changed_by text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
"""

_LOOKUP = """
SELECT l.id, l.organization_id, l.incident_id, l.expires_at, l.revoked_at,
       CASE WHEN u.disabled_at IS NULL THEN m.role END, coalesce(p.links_allowed, true)
  FROM shared_links l JOIN users u ON u.id = l.owner_id
  LEFT JOIN memberships m ON m.user_id = u.id AND m.organization_id = l.organization_id
  LEFT JOIN sharing_policies p ON p.organization_id = l.organization_id
 WHERE l.token_hash = p_hash
"""

# As for tokens: not by the missing membership alone, since it may come back.
_WITH_MEMBER = """
BEGIN
    UPDATE shared_links SET revoked_at = now()
     WHERE organization_id = OLD.organization_id AND owner_id = OLD.user_id AND revoked_at IS NULL;
    RETURN NULL;
END
"""
_AND_TOKENS = """
BEGIN
    UPDATE shared_links SET revoked_at = NEW.revoked_at WHERE token_id = NEW.id AND revoked_at IS NULL;
    RETURN NULL;
END
"""


def upgrade() -> None:
    op.execute(UPGRADE)
    for table in ("shared_links", "sharing_policies"):
        enable_tenant_rls(table)
    definer_function(
        "auth_shared_link(p_hash bytea)",
        "TABLE (link_id bigint, organization_id bigint, incident_id bigint, expires_at timestamptz, "
        "revoked_at timestamptz, owner_role text, links_allowed boolean)",
        _LOOKUP,
    )
    definer_function("end_links_of_member()", "trigger", _WITH_MEMBER, language="plpgsql", volatility="VOLATILE")
    definer_function("end_links_of_token()", "trigger", _AND_TOKENS, language="plpgsql", volatility="VOLATILE")
    op.execute(
        "CREATE TRIGGER end_links AFTER DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION end_links_of_member()"
    )
    op.execute(
        "CREATE TRIGGER end_links AFTER UPDATE OF revoked_at ON tokens FOR EACH ROW "
        "WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION end_links_of_token()"
    )


def downgrade() -> None:
    op.execute("DROP TRIGGER end_links ON tokens")
    op.execute("DROP TRIGGER end_links ON memberships")
    op.execute("DROP FUNCTION end_links_of_token()")
    op.execute("DROP FUNCTION end_links_of_member()")
    op.execute("DROP FUNCTION auth_shared_link(bytea)")
    op.execute("DROP TABLE shared_links, sharing_policies")
