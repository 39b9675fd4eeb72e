"""A token has an owner, ends with the owner's membership, and a token made with a token ends with that one.

Tokens that were there before belong to whoever the audit trail says made them, through the tokens that made tokens. One
whose maker has left ends now. Of those that the set-up made the first administrator is the owner.
"""

from __future__ import annotations

from alembic import op

from migrations.helpers import definer_function

revision = "20261123_2310"
down_revision = "20261123_2300"
depends_on = None
branch_labels = None

_SIGNATURE = "auth_token(p_hash bytea)"
_TOUCH = """
UPDATE tokens SET last_used_at = now() WHERE token_hash = p_hash
   AND (last_used_at IS NULL OR last_used_at < now() - interval '10 seconds');
"""
_BEFORE = (
    "TABLE (token_id bigint, organization_id bigint, kind text, name text, scopes text[])",
    """
    SELECT id, tokens.organization_id, tokens.kind, tokens.name, tokens.scopes FROM tokens
     WHERE token_hash = p_hash AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
    """,
)
_AFTER = (
    "TABLE (token_id bigint, organization_id bigint, kind text, name text, scopes text[], owner_id bigint, "
    "owner_role text, expires_at timestamptz)",
    """
    SELECT t.id, t.organization_id, t.kind, t.name, t.scopes, u.id, m.role, t.expires_at
      FROM tokens t JOIN users u ON u.id = t.owner_id
      JOIN memberships m ON m.user_id = u.id AND m.organization_id = t.organization_id
     WHERE t.token_hash = p_hash AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
       AND u.disabled_at IS NULL
    """,
)

# The makers of tokens, as far as the audit trail goes; who signed in made the first of each line of tokens.
_OWNERS = """
WITH RECURSIVE made AS (
    SELECT organization_id, substring(target FROM '[0-9]+$')::bigint AS id, user_id, token_id
      FROM audit_entries WHERE action IN ('token.create', 'ingest_token.create') AND target ~ '^token [0-9]+$'
), line AS (
    SELECT organization_id, id, user_id, token_id FROM made
    UNION
    SELECT line.organization_id, line.id, made.user_id, made.token_id
      FROM line JOIN made ON made.organization_id = line.organization_id AND made.id = line.token_id
     WHERE line.user_id IS NULL
)
UPDATE tokens t SET owner_id = line.user_id FROM line JOIN users u ON u.id = line.user_id
 WHERE t.id = line.id AND t.organization_id = line.organization_id
"""
_LEFT = """
UPDATE tokens t SET revoked_at = now() WHERE revoked_at IS NULL AND owner_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM memberships m WHERE m.user_id = t.owner_id AND m.organization_id = t.organization_id)
"""
_OF_THE_SETUP = """
UPDATE tokens t SET owner_id = (
    SELECT m.user_id FROM memberships m WHERE m.organization_id = t.organization_id AND m.role = 'admin'
     ORDER BY m.id LIMIT 1)
 WHERE owner_id IS NULL
"""

# Not by the missing membership alone: it may come back.
_END = """
BEGIN
    UPDATE tokens SET revoked_at = now()
     WHERE organization_id = OLD.organization_id AND owner_id = OLD.user_id AND revoked_at IS NULL;
    RETURN NULL;
END
"""


def upgrade() -> None:
    op.execute("ALTER TABLE tokens ADD COLUMN owner_id bigint REFERENCES users (id) ON DELETE CASCADE")
    op.execute("ALTER TABLE tokens ADD COLUMN parent_id bigint REFERENCES tokens (id) ON DELETE SET NULL")
    for statement in (_OWNERS, _LEFT, _OF_THE_SETUP):
        op.execute(statement)
    # An organization without an administrator has nobody who could own them.
    op.execute("DELETE FROM tokens WHERE owner_id IS NULL")
    op.execute("ALTER TABLE tokens ALTER COLUMN owner_id SET NOT NULL")
    op.execute("CREATE INDEX ON tokens (owner_id)")
    op.execute("CREATE INDEX ON tokens (parent_id)")
    op.execute("DROP FUNCTION auth_token(bytea)")
    definer_function(_SIGNATURE, _AFTER[0], _TOUCH + _AFTER[1], volatility="VOLATILE")
    definer_function("end_tokens_of_member()", "trigger", _END, language="plpgsql", volatility="VOLATILE")
    op.execute(
        "CREATE TRIGGER end_tokens AFTER DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION end_tokens_of_member()"
    )


def downgrade() -> None:
    op.execute("DROP TRIGGER end_tokens ON memberships")
    op.execute("DROP FUNCTION end_tokens_of_member()")
    op.execute("DROP FUNCTION auth_token(bytea)")
    definer_function(_SIGNATURE, _BEFORE[0], _TOUCH + _BEFORE[1], volatility="VOLATILE")
    op.execute("ALTER TABLE tokens DROP COLUMN owner_id, DROP COLUMN parent_id")
