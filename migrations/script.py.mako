"""${message}"""

from __future__ import annotations

from alembic import op

# Lock and statement timeouts are set for every migration in env.py: one that cannot get its lock within 5 s fails and
# is tried again, instead of queueing everybody behind it.
from migrations.helpers import enable_tenant_rls

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
depends_on = ${repr(depends_on)}
branch_labels = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
