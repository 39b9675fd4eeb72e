"""A change of the password ends all other sessions of the user, whichever organization they are in."""

from __future__ import annotations

from alembic import op

from migrations.helpers import definer_function

revision = "20261123_2320"
down_revision = "20261123_2310"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("DROP FUNCTION auth_set_password(bigint, text, text)")
    definer_function(
        "auth_set_password(p_user bigint, p_old text, p_new text, p_kept_session bigint)",
        "boolean",
        "WITH changed AS (UPDATE users SET password_hash = p_new WHERE id = p_user AND password_hash = p_old RETURNING id), "
        "ended AS (DELETE FROM sessions USING changed WHERE user_id = changed.id AND sessions.id <> p_kept_session) "
        "SELECT EXISTS (SELECT FROM changed)",
        volatility="VOLATILE",
    )


def downgrade() -> None:
    op.execute("DROP FUNCTION auth_set_password(bigint, text, text, bigint)")
    definer_function(
        "auth_set_password(p_user bigint, p_old text, p_new text)",
        "boolean",
        "WITH changed AS (UPDATE users SET password_hash = p_new WHERE id = p_user AND password_hash = p_old RETURNING 1) "
        "SELECT EXISTS (SELECT FROM changed)",
        volatility="VOLATILE",
    )
