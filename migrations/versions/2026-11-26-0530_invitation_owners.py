"""An invitation has an owner: it ends with the owner's membership or role, and with the token that made it.

Invitations that were there before belong to whoever the audit trail says made them. Where it does not say, they end.
"""

from __future__ import annotations

from alembic import op

from migrations.helpers import definer_function

revision = "20261126_0530"
down_revision = "20261125_2130"
depends_on = None
branch_labels = None

_INVITATION = "auth_invitation(p_hash bytea)"
_INVITATION_RETURNS = "TABLE (organization_id bigint, organization_name text, email text, role text, known boolean)"
_ACCEPT = "auth_accept_invitation(p_hash bytea, p_session_hash bytea, p_name text, p_password_hash text)"

_COLUMNS = """
ALTER TABLE invitations ADD COLUMN owner_id bigint REFERENCES users (id) ON DELETE CASCADE,
    ADD COLUMN token_id bigint REFERENCES tokens (id) ON DELETE CASCADE;
"""
# Both rows were inserted by one transaction, so their times are the same.
_OWNERS = """
UPDATE invitations i SET owner_id = u.id, token_id = t.id
  FROM audit_entries a LEFT JOIN tokens t ON t.id = a.token_id JOIN users u ON u.id = coalesce(a.user_id, t.owner_id)
 WHERE a.organization_id = i.organization_id AND a.action = 'member.invite' AND a.target = i.email AND a.at = i.created_at
"""
_NOBODYS = """
DELETE FROM invitations i WHERE owner_id IS NULL OR (accepted_at IS NULL AND NOT EXISTS (
    SELECT FROM memberships m
     WHERE m.user_id = i.owner_id AND m.organization_id = i.organization_id AND m.role = 'admin'))
"""
_NOT_NULL = """
ALTER TABLE invitations ALTER COLUMN owner_id SET NOT NULL;
CREATE INDEX ON invitations (owner_id);
CREATE INDEX ON invitations (token_id);
"""

# Only administrators invite. Its triggers end an invitation whose owner is none any more; this also holds for owners
# who are disabled, and for tokens that expire.
_HOLDS = """
  JOIN users o ON o.id = i.owner_id AND o.disabled_at IS NULL
  JOIN memberships w ON w.user_id = o.id AND w.organization_id = i.organization_id AND w.role = 'admin'
  LEFT JOIN tokens t ON t.id = i.token_id
 WHERE i.token_hash = p_hash AND i.accepted_at IS NULL AND i.expires_at > now()
   AND (i.token_id IS NULL OR (t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())))
"""
_HELD_BEFORE = " WHERE i.token_hash = p_hash AND i.accepted_at IS NULL AND i.expires_at > now()"


def _invitation(which: str) -> str:
    return (
        "SELECT i.organization_id, g.name, i.email, i.role, i.mailed AND EXISTS ("
        "SELECT FROM users u WHERE u.email = i.email AND u.verified_at IS NOT NULL) "
        f"FROM invitations i JOIN organizations g ON g.id = i.organization_id {which}"
    )


def _accept(which: str) -> str:
    return f"""
DECLARE invited invitations; member bigint;
BEGIN
    SELECT i.* INTO invited FROM invitations i {which} FOR UPDATE OF i;
    IF NOT FOUND OR EXISTS (
        SELECT FROM memberships m JOIN users u ON u.id = m.user_id
         WHERE m.organization_id = invited.organization_id AND u.email = invited.email
    ) THEN RETURN NULL; END IF;
    IF p_session_hash IS NULL THEN
        INSERT INTO users (email, name, password_hash, verified_at, home_organization_id)
        VALUES (invited.email, p_name, p_password_hash, CASE WHEN invited.mailed THEN now() END, invited.organization_id)
            ON CONFLICT DO NOTHING RETURNING id INTO member;
    ELSE
        SELECT u.id INTO member FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE s.token_hash = p_session_hash AND s.expires_at > now() AND u.disabled_at IS NULL AND u.email = invited.email;
        IF invited.mailed AND NOT EXISTS (SELECT FROM users WHERE email = invited.email AND verified_at IS NOT NULL) THEN
            UPDATE users SET verified_at = now() WHERE id = member;
        END IF;
    END IF;
    IF member IS NULL THEN RETURN NULL; END IF;
    INSERT INTO memberships (organization_id, user_id, role) VALUES (invited.organization_id, member, invited.role);
    UPDATE invitations SET accepted_at = now() WHERE id = invited.id;
    RETURN member;
END
"""


_WITH_MEMBER = """
BEGIN
    DELETE FROM invitations
     WHERE organization_id = OLD.organization_id AND owner_id = OLD.user_id AND accepted_at IS NULL;
    RETURN NULL;
END
"""
_AND_TOKENS = """
BEGIN
    DELETE FROM invitations WHERE token_id = NEW.id AND accepted_at IS NULL;
    RETURN NULL;
END
"""


def upgrade() -> None:
    for statement in (_COLUMNS, _OWNERS, _NOBODYS, _NOT_NULL):
        op.execute(statement)
    _lookups(_HOLDS)
    definer_function("end_invitations_of_member()", "trigger", _WITH_MEMBER, language="plpgsql", volatility="VOLATILE")
    definer_function("end_invitations_of_token()", "trigger", _AND_TOKENS, language="plpgsql", volatility="VOLATILE")
    op.execute(
        "CREATE TRIGGER end_invitations AFTER DELETE ON memberships FOR EACH ROW "
        "EXECUTE FUNCTION end_invitations_of_member()"
    )
    op.execute(
        "CREATE TRIGGER end_invitations_of_demoted AFTER UPDATE OF role ON memberships FOR EACH ROW "
        "WHEN (OLD.role = 'admin' AND NEW.role <> 'admin') EXECUTE FUNCTION end_invitations_of_member()"
    )
    op.execute(
        "CREATE TRIGGER end_invitations AFTER UPDATE OF revoked_at ON tokens FOR EACH ROW "
        "WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION end_invitations_of_token()"
    )


def downgrade() -> None:
    op.execute("DROP TRIGGER end_invitations ON tokens")
    op.execute("DROP TRIGGER end_invitations_of_demoted ON memberships")
    op.execute("DROP TRIGGER end_invitations ON memberships")
    op.execute("DROP FUNCTION end_invitations_of_token()")
    op.execute("DROP FUNCTION end_invitations_of_member()")
    _lookups(_HELD_BEFORE)
    op.execute("ALTER TABLE invitations DROP COLUMN owner_id, DROP COLUMN token_id")


def _lookups(which: str) -> None:
    op.execute("DROP FUNCTION auth_invitation(bytea)")
    op.execute("DROP FUNCTION auth_accept_invitation(bytea, bytea, text, text)")
    definer_function(_INVITATION, _INVITATION_RETURNS, _invitation(which))
    definer_function(_ACCEPT, "bigint", _accept(which), language="plpgsql", volatility="VOLATILE")
