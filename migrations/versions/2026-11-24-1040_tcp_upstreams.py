"""What servers ask over TCP are resources: an upstream is an address as a cgroup asks it."""

from __future__ import annotations

from alembic import op

revision = "20261124_1040"
down_revision = "20261124_1030"
depends_on = None
branch_labels = None

_KINDS = ("node", "cgroup", "process", "dns_server", "dns_path", "probe", "external", "tcp_server")


def upgrade() -> None:
    _allow((*_KINDS, "tcp_upstream"))


def downgrade() -> None:
    op.execute("DELETE FROM resources WHERE kind = 'tcp_upstream'")
    _allow(_KINDS)


def _allow(kinds: tuple[str, ...]) -> None:
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    op.execute("ALTER TABLE resources DROP CONSTRAINT resources_kind_check")
    op.execute(f"ALTER TABLE resources ADD CONSTRAINT resources_kind_check CHECK (kind IN ({listed}))")
