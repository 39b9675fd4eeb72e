"""The organization that a sign-in names decides which accounts of an address are tried first.

Five are tried. Without it, the sixth account of an address could never sign in, whoever made the other five.
"""

from __future__ import annotations

from alembic import op

from migrations.helpers import definer_function

revision = "20261126_0540"
down_revision = "20261126_0530"
depends_on = None
branch_labels = None

_RETURNS = "TABLE (user_id bigint, salt text)"
_SALT = "SELECT u.id, substring(u.password_hash FROM '^(.*)[$][^$]*$') FROM users u "
_ENABLED = "WHERE u.email = lower(p_email) AND u.disabled_at IS NULL ORDER BY "


def upgrade() -> None:
    op.execute("DROP FUNCTION auth_password_salts(text)")
    definer_function(
        "auth_password_salts(p_email text, p_organization bigint)",
        _RETURNS,
        f"{_SALT} LEFT JOIN memberships m ON m.user_id = u.id AND m.organization_id = p_organization "
        f"{_ENABLED} m.id IS NULL, u.verified_at IS NULL, u.id LIMIT 5",
    )


def downgrade() -> None:
    op.execute("DROP FUNCTION auth_password_salts(text, bigint)")
    definer_function(
        "auth_password_salts(p_email text)", _RETURNS, f"{_SALT} {_ENABLED} u.verified_at IS NULL, u.id LIMIT 5"
    )
