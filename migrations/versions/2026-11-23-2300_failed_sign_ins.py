"""Failed sign-ins are in the audit trail of the organizations that the address is a member of."""

from __future__ import annotations

from alembic import op

from migrations.helpers import definer_function

revision = "20261123_2300"
down_revision = "20261123_2255"
depends_on = None
branch_labels = None


def upgrade() -> None:
    definer_function(
        "auth_record_failed_sign_in(p_email text, p_address text)",
        "void",
        "INSERT INTO audit_entries (organization_id, actor, actor_kind, user_id, action, target, detail) "
        "SELECT m.organization_id, 'unknown', 'anonymous', u.id, 'session.refuse', 'user ' || u.id, "
        "jsonb_build_object('email', u.email, 'address', left(p_address, 64)) "
        "FROM users u JOIN memberships m ON m.user_id = u.id WHERE u.email = lower(p_email)",
        volatility="VOLATILE",
    )


def downgrade() -> None:
    op.execute("DROP FUNCTION auth_record_failed_sign_in(text, text)")
