"""Organizations, users, memberships, sessions, tokens, invitations, and the audit trail; the application role."""

from __future__ import annotations

from alembic import op

from migrations.helpers import APP_ROLE, CURRENT_ORGANIZATION, definer_function, enable_tenant_rls

revision = "20261121_1000"
down_revision = None
depends_on = None
branch_labels = None

ID = "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
ORGANIZATION = "organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE"
NOW = "timestamptz NOT NULL DEFAULT now()"
ROLE = "role text NOT NULL CHECK (role IN ('viewer', 'editor', 'admin'))"

TABLES = f"""
CREATE TABLE organizations (
    {ID}, name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200), created_at {NOW}
);
CREATE TABLE users (
    {ID}, email text NOT NULL UNIQUE CHECK (email = lower(email) AND length(email) <= 320),
    name text NOT NULL, password_hash text NOT NULL, is_operator boolean NOT NULL DEFAULT false,
    disabled_at timestamptz, created_at {NOW}
);
CREATE TABLE memberships (
    {ID}, {ORGANIZATION}, user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    {ROLE}, created_at {NOW}, UNIQUE (organization_id, user_id)
);
CREATE INDEX ON memberships (user_id);
CREATE TABLE sessions (
    {ID}, {ORGANIZATION}, user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_hash bytea NOT NULL UNIQUE, created_at {NOW}, last_seen_at {NOW}, expires_at timestamptz NOT NULL,
    user_agent text NOT NULL DEFAULT '', address text NOT NULL DEFAULT ''
);
CREATE INDEX ON sessions (organization_id, user_id);
CREATE INDEX ON sessions (expires_at);
CREATE TABLE tokens (
    {ID}, {ORGANIZATION}, kind text NOT NULL CHECK (kind IN ('api', 'ingest')),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200), token_hash bytea NOT NULL UNIQUE, hint text NOT NULL,
    scopes text[] NOT NULL, created_by text NOT NULL, created_at {NOW}, expires_at timestamptz, revoked_at timestamptz,
    last_used_at timestamptz
);
CREATE INDEX ON tokens (organization_id, id);
CREATE TABLE invitations (
    {ID}, {ORGANIZATION}, email text NOT NULL CHECK (email = lower(email) AND length(email) <= 320), {ROLE},
    token_hash bytea NOT NULL UNIQUE, invited_by text NOT NULL, created_at {NOW}, expires_at timestamptz NOT NULL,
    accepted_at timestamptz
);
CREATE INDEX ON invitations (organization_id, id);
CREATE TABLE audit_entries (
    {ID}, {ORGANIZATION}, at {NOW}, actor text NOT NULL, actor_kind text NOT NULL, user_id bigint, token_id bigint,
    action text NOT NULL, target text NOT NULL, detail jsonb NOT NULL DEFAULT '{{}}'
);
CREATE INDEX ON audit_entries (organization_id, id DESC);
"""

# The role is made by `jitterscope bootstrap` with its password; here only where somebody migrates without it.
CREATE_ROLE = f"""
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APP_ROLE}') THEN
        CREATE ROLE {APP_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$
"""


def upgrade() -> None:
    op.execute(CREATE_ROLE)
    op.execute(TABLES)
    op.execute(f"GRANT USAGE ON SCHEMA public TO {APP_ROLE}")
    for table in ("memberships", "sessions", "tokens", "invitations"):
        enable_tenant_rls(table)
    enable_tenant_rls("audit_entries", "SELECT, INSERT")  # append-only
    op.execute("ALTER TABLE organizations ENABLE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY tenant ON organizations TO {APP_ROLE} USING (id = {CURRENT_ORGANIZATION}) "
        f"WITH CHECK (id = {CURRENT_ORGANIZATION})"
    )
    op.execute(f"GRANT SELECT, UPDATE (name) ON organizations TO {APP_ROLE}")
    # A user is visible where it is a member; its password hash never by plain SELECT.
    op.execute("ALTER TABLE users ENABLE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY fellow_members ON users FOR SELECT TO {APP_ROLE} USING (EXISTS (SELECT FROM memberships m "
        f"WHERE m.user_id = users.id AND m.organization_id = {CURRENT_ORGANIZATION}))"
    )
    op.execute(f"GRANT SELECT (id, email, name, created_at) ON users TO {APP_ROLE}")
    _lookups()
    _changes()


def _lookups() -> None:
    definer_function(
        "system_organization_ids()", "TABLE (organization_id bigint)", "SELECT id FROM organizations ORDER BY id"
    )
    # Password hashes never leave the database: the caller gets the salt, computes, and asks whether it fits.
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
        "auth_session(p_hash bytea)",
        "TABLE (session_id bigint, organization_id bigint, user_id bigint, name text, email text, role text, is_operator boolean)",
        """
        UPDATE sessions SET last_seen_at = now() WHERE token_hash = p_hash AND last_seen_at < now() - interval '1 minute';
        SELECT s.id, s.organization_id, u.id, u.name, u.email, m.role, u.is_operator
          FROM sessions s JOIN users u ON u.id = s.user_id
          JOIN memberships m ON m.user_id = u.id AND m.organization_id = s.organization_id
         WHERE s.token_hash = p_hash AND s.expires_at > now() AND u.disabled_at IS NULL
        """,
        volatility="VOLATILE",
    )
    definer_function(
        "auth_session_organizations(p_hash bytea)",
        "TABLE (organization_id bigint, name text, role text)",
        "SELECT o.id, o.name, m.role FROM sessions s JOIN memberships m ON m.user_id = s.user_id "
        "JOIN organizations o ON o.id = m.organization_id WHERE s.token_hash = p_hash AND s.expires_at > now() ORDER BY o.id",
    )
    definer_function(
        "auth_token(p_hash bytea)",
        "TABLE (token_id bigint, organization_id bigint, kind text, name text, scopes text[])",
        """
        UPDATE tokens SET last_used_at = now() WHERE token_hash = p_hash
           AND (last_used_at IS NULL OR last_used_at < now() - interval '10 seconds');
        SELECT id, tokens.organization_id, tokens.kind, tokens.name, tokens.scopes FROM tokens
         WHERE token_hash = p_hash AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
        """,
        volatility="VOLATILE",
    )
    definer_function(
        "auth_invitation(p_hash bytea)",
        "TABLE (organization_id bigint, organization_name text, email text, role text, known boolean)",
        "SELECT i.organization_id, o.name, i.email, i.role, EXISTS (SELECT FROM users u WHERE u.email = i.email) "
        "FROM invitations i JOIN organizations o ON o.id = i.organization_id "
        "WHERE i.token_hash = p_hash AND i.accepted_at IS NULL AND i.expires_at > now()",
    )


def _changes() -> None:
    definer_function(
        "auth_set_password(p_user bigint, p_old text, p_new text)",
        "boolean",
        "WITH changed AS (UPDATE users SET password_hash = p_new WHERE id = p_user AND password_hash = p_old RETURNING 1) "
        "SELECT EXISTS (SELECT FROM changed)",
        volatility="VOLATILE",
    )
    # A new user gets the given name and hash; a known one keeps its own, which the caller has verified.
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
        "auth_create_organization(p_session_hash bytea, p_name text)",
        "bigint",
        """
        DECLARE founder bigint; created bigint;
        BEGIN
            SELECT u.id INTO founder FROM sessions s JOIN users u ON u.id = s.user_id
             WHERE s.token_hash = p_session_hash AND s.expires_at > now() AND u.is_operator AND u.disabled_at IS NULL;
            IF NOT FOUND THEN RETURN NULL; END IF;
            INSERT INTO organizations (name) VALUES (p_name) RETURNING id INTO created;
            INSERT INTO memberships (organization_id, user_id, role) VALUES (created, founder, 'admin');
            RETURN created;
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


def downgrade() -> None:
    for function in (
        "auth_expire()", "auth_create_organization(bytea, text)", "auth_accept_invitation(bytea, text, text)",
        "auth_set_password(bigint, text, text)", "auth_invitation(bytea)", "auth_token(bytea)",
        "auth_session_organizations(bytea)", "auth_session(bytea)", "auth_login(text, text)",
        "auth_password_salt(text)", "system_organization_ids()",
    ):  # fmt: skip
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP POLICY fellow_members ON users")
    for table in ("audit_entries", "invitations", "tokens", "sessions", "memberships", "users", "organizations"):
        op.execute(f"DROP TABLE {table}")
