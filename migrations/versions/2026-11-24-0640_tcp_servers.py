"""TCP servers are resources, and GC series have one name for every runtime.

Findings refer to the series of their evidence by name.
"""

from __future__ import annotations

from alembic import op

revision = "20261124_0640"
down_revision = "20261123_2330"
depends_on = None
branch_labels = None

_KINDS = ("node", "cgroup", "process", "dns_server", "dns_path", "probe", "external")
_RENAMED = {
    "go_gc_cycles": "gc_cycles",
    "go_gc_active_us": "gc_active_us",
    "go_gc_pause_us": "gc_pause_us",
    "go_heap_live_bytes": "heap_live_bytes",
    "go_heap_goal_bytes": "heap_goal_bytes",
}
_FINDINGS = (("incidents", "finding"), ("risks", "finding"), ("analyses", "report"))


def upgrade() -> None:
    _allow((*_KINDS, "tcp_server"))
    _rename(_RENAMED)


def downgrade() -> None:
    op.execute("DELETE FROM resources WHERE kind = 'tcp_server'")
    _allow(_KINDS)
    _rename({new: old for old, new in _RENAMED.items()})


def _allow(kinds: tuple[str, ...]) -> None:
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    op.execute("ALTER TABLE resources DROP CONSTRAINT resources_kind_check")
    op.execute(f"ALTER TABLE resources ADD CONSTRAINT resources_kind_check CHECK (kind IN ({listed}))")


def _rename(names: dict[str, str]) -> None:
    for table, column in _FINDINGS:
        for old, new in names.items():
            op.execute(
                f"UPDATE {table} SET {column} = replace({column}::text, '\"{old}\"', '\"{new}\"')::jsonb "
                f"WHERE {column}::text LIKE '%\"{old}\"%'"
            )
