"""An address that is not verified means something only inside the organization that invited it.

Accounts of before are local to the organization that they joined first, but for operators and founders, whom whoever
runs the installation vouched for.
"""

from __future__ import annotations

from alembic import op

from migrations.helpers import APP_ROLE, definer_function

revision = "20261123_2330"
down_revision = "20261123_2320"
depends_on = None
branch_labels = None

_TABLES = f"""
ALTER TABLE users ADD COLUMN verified_at timestamptz,
    ADD COLUMN home_organization_id bigint REFERENCES organizations (id) ON DELETE SET NULL;
UPDATE users u SET verified_at = now() WHERE is_operator OR EXISTS (
    SELECT FROM memberships m JOIN organizations o ON o.id = m.organization_id
     WHERE m.user_id = u.id AND m.created_at = o.created_at);
UPDATE users u SET home_organization_id = (
    SELECT m.organization_id FROM memberships m WHERE m.user_id = u.id ORDER BY m.id LIMIT 1);
ALTER TABLE users DROP CONSTRAINT users_email_key;
CREATE UNIQUE INDEX users_verified_email ON users (email) WHERE verified_at IS NOT NULL;
CREATE UNIQUE INDEX users_local_email ON users (home_organization_id, email) WHERE verified_at IS NULL;
CREATE INDEX users_email ON users (email);
GRANT SELECT (verified_at) ON users TO {APP_ROLE};
ALTER TABLE invitations ADD COLUMN mailed boolean NOT NULL DEFAULT false;
CREATE TABLE email_verifications (
    token_hash bytea PRIMARY KEY, user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    email text NOT NULL, expires_at timestamptz NOT NULL
);
CREATE INDEX ON email_verifications (user_id);
"""

_OLD = (
    "auth_password_salt(text)",
    "auth_login(text, text)",
    "auth_invitation(bytea)",
    "auth_accept_invitation(bytea, text, text)",
    "auth_expire()",
)
_NEW = (
    "auth_password_salts(text)",
    "auth_login(bigint, text)",
    "auth_invitation(bytea)",
    "auth_accept_invitation(bytea, bytea, text, text)",
    "auth_start_verification(bytea, bytea)",
    "auth_verify_email(bytea, bytea)",
    "auth_expire()",
)

# Without a session a new account is made, local to the organization unless the link came by mail to the address. With
# one the account of the session joins, if the invitation is for its address. Neither changes a membership that is there.
_ACCEPT = """
DECLARE invited invitations; member bigint;
BEGIN
    SELECT * INTO invited FROM invitations
     WHERE token_hash = p_hash AND accepted_at IS NULL AND expires_at > now() FOR UPDATE;
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

# The mail proves the address, the session the account: a link that was mailed on behalf of somebody else's account
# verifies nothing.
_VERIFY = """
DECLARE proven email_verifications;
BEGIN
    SELECT v.* INTO proven FROM email_verifications v JOIN sessions s ON s.user_id = v.user_id JOIN users u ON u.id = v.user_id
     WHERE v.token_hash = p_token_hash AND v.expires_at > now() AND v.email = u.email
       AND s.token_hash = p_session_hash AND s.expires_at > now() AND u.disabled_at IS NULL;
    IF NOT FOUND THEN RETURN 'unknown'; END IF;
    BEGIN
        UPDATE users SET verified_at = coalesce(verified_at, now()) WHERE id = proven.user_id;
    EXCEPTION WHEN unique_violation THEN RETURN 'taken';
    END;
    DELETE FROM email_verifications WHERE user_id = proven.user_id;
    RETURN 'verified';
END
"""

# A local account lives as long as some organization has it as a member.
_FORGET = """
DECLARE next_home bigint;
BEGIN
    SELECT organization_id INTO next_home FROM memberships WHERE user_id = OLD.user_id ORDER BY id LIMIT 1;
    IF NOT FOUND THEN
        DELETE FROM users WHERE id = OLD.user_id AND verified_at IS NULL AND NOT is_operator;
    ELSE
        UPDATE users SET home_organization_id = next_home
         WHERE id = OLD.user_id AND verified_at IS NULL AND home_organization_id = OLD.organization_id;
    END IF;
    RETURN NULL;
END
"""


def upgrade() -> None:
    op.execute(_TABLES)
    for function in _OLD:
        op.execute(f"DROP FUNCTION {function}")
    definer_function(
        "auth_password_salts(p_email text)",
        "TABLE (user_id bigint, salt text)",
        "SELECT id, substring(password_hash FROM '^(.*)[$][^$]*$') FROM users "
        "WHERE email = lower(p_email) AND disabled_at IS NULL ORDER BY verified_at IS NULL, id LIMIT 5",
    )
    definer_function(
        "auth_login(p_user bigint, p_password_hash text)",
        "TABLE (user_id bigint, name text, organization_id bigint)",
        "SELECT u.id, u.name, m.organization_id FROM users u LEFT JOIN memberships m ON m.user_id = u.id "
        "WHERE u.id = p_user AND u.password_hash = p_password_hash AND u.disabled_at IS NULL ORDER BY m.id",
    )
    # Of accounts elsewhere it tells only who has the mailbox.
    definer_function(
        "auth_invitation(p_hash bytea)",
        "TABLE (organization_id bigint, organization_name text, email text, role text, known boolean)",
        "SELECT i.organization_id, o.name, i.email, i.role, i.mailed AND EXISTS ("
        "SELECT FROM users u WHERE u.email = i.email AND u.verified_at IS NOT NULL) "
        "FROM invitations i JOIN organizations o ON o.id = i.organization_id "
        "WHERE i.token_hash = p_hash AND i.accepted_at IS NULL AND i.expires_at > now()",
    )
    definer_function(
        "auth_accept_invitation(p_hash bytea, p_session_hash bytea, p_name text, p_password_hash text)",
        "bigint",
        _ACCEPT,
        language="plpgsql",
        volatility="VOLATILE",
    )
    definer_function(
        "auth_start_verification(p_session_hash bytea, p_token_hash bytea)",
        "text",
        "INSERT INTO email_verifications (token_hash, user_id, email, expires_at) "
        "SELECT p_token_hash, u.id, u.email, now() + interval '1 day' FROM sessions s JOIN users u ON u.id = s.user_id "
        "WHERE s.token_hash = p_session_hash AND s.expires_at > now() AND u.verified_at IS NULL RETURNING email",
        volatility="VOLATILE",
    )
    definer_function(
        "auth_verify_email(p_session_hash bytea, p_token_hash bytea)",
        "text",
        _VERIFY,
        language="plpgsql",
        volatility="VOLATILE",
    )
    definer_function(
        "auth_expire()",
        "void",
        "DELETE FROM sessions WHERE expires_at < now(); DELETE FROM email_verifications WHERE expires_at < now(); "
        "DELETE FROM invitations WHERE expires_at < now() - interval '30 days'",
        volatility="VOLATILE",
    )
    definer_function("forget_local_account()", "trigger", _FORGET, language="plpgsql", volatility="VOLATILE")
    # After end_tokens: triggers of one event run in the order of their names.
    op.execute(
        "CREATE TRIGGER forget_local_account AFTER DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION forget_local_account()"
    )


def downgrade() -> None:
    op.execute("DROP TRIGGER forget_local_account ON memberships")
    for function in ("forget_local_account()", *_NEW):
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP TABLE email_verifications")
    op.execute("ALTER TABLE invitations DROP COLUMN mailed")
    # Of several accounts of an address the verified one, else the first, stays.
    op.execute(
        "DELETE FROM users u WHERE EXISTS (SELECT FROM users o WHERE o.email = u.email AND o.id <> u.id "
        "AND (o.verified_at IS NULL, o.id) < (u.verified_at IS NULL, u.id))"
    )
    op.execute("DROP INDEX users_verified_email, users_local_email, users_email")
    op.execute("ALTER TABLE users ADD CONSTRAINT users_email_key UNIQUE (email)")
    op.execute("ALTER TABLE users DROP COLUMN verified_at, DROP COLUMN home_organization_id")
    _functions_of_before()


def _functions_of_before() -> None:
    definer_function(
        "auth_password_salt(p_email text)",
        "text",
        "SELECT substring(password_hash FROM '^(.*)[$][^$]*$') FROM users "
        "WHERE email = lower(p_email) AND disabled_at IS NULL",
    )
    definer_function(
        "auth_login(p_email text, p_password_hash text)",
        "TABLE (user_id bigint, name text, organization_id bigint)",
        "SELECT u.id, u.name, m.organization_id FROM users u LEFT JOIN memberships m ON m.user_id = u.id "
        "WHERE u.email = lower(p_email) AND u.password_hash = p_password_hash AND u.disabled_at IS NULL ORDER BY m.id",
    )
    definer_function(
        "auth_invitation(p_hash bytea)",
        "TABLE (organization_id bigint, organization_name text, email text, role text, known boolean)",
        "SELECT i.organization_id, o.name, i.email, i.role, EXISTS (SELECT FROM users u WHERE u.email = i.email) "
        "FROM invitations i JOIN organizations o ON o.id = i.organization_id "
        "WHERE i.token_hash = p_hash AND i.accepted_at IS NULL AND i.expires_at > now()",
    )
    definer_function(
        "auth_accept_invitation(p_hash bytea, p_name text, p_password_hash text)",
        "bigint",
        """
        DECLARE invited invitations; member bigint;
        BEGIN
            UPDATE invitations SET accepted_at = now()
             WHERE token_hash = p_hash AND accepted_at IS NULL AND expires_at > now() RETURNING * INTO invited;
            IF NOT FOUND THEN RETURN NULL; END IF;
            INSERT INTO users (email, name, password_hash) VALUES (invited.email, p_name, p_password_hash)
                ON CONFLICT (email) DO NOTHING;
            SELECT id INTO member FROM users WHERE email = invited.email;
            INSERT INTO memberships (organization_id, user_id, role) VALUES (invited.organization_id, member, invited.role)
                ON CONFLICT (organization_id, user_id) DO UPDATE SET role = excluded.role;
            RETURN member;
        END
        """,
        language="plpgsql",
        volatility="VOLATILE",
    )
    definer_function(
        "auth_expire()",
        "void",
        "DELETE FROM sessions WHERE expires_at < now(); "
        "DELETE FROM invitations WHERE expires_at < now() - interval '30 days'",
        volatility="VOLATILE",
    )
