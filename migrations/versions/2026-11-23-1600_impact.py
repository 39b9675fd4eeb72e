"""The impact of a finding holds what is known, by the ids of its area's quantities: what is stored follows.

Of pod starts the times were stored as those of answers. Who else is affected carries an impact as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "20261123_1600"
down_revision = "20261123_1320"
depends_on = None
branch_labels = None

_FIELDS = (
    "queries", "slow_queries", "slow_ratio", "p50_ms", "p99_ms", "max_ms", "throttled_ratio", "throttled_ms", "cpu_mean",
    "cpu_limit", "cpu_peak_100ms", "gc_cycles",
)  # fmt: skip
# Those of them that a notification had.
_SENT = tuple(one for one in _FIELDS if one not in ("p50_ms", "cpu_mean", "gc_cycles"))
_OF_PODS = {"p50_ms": "start_p50_ms", "p99_ms": "start_p99_ms", "max_ms": "start_max_ms"}
_OF_MEMBERS = ("slow_queries", "max_ms")


Change = Callable[[dict[str, Any]], None]


def upgrade() -> None:
    _rewrite(_by_quantity, _by_quantity, _member_with_impact)


def downgrade() -> None:
    _rewrite(lambda one: _as_fields(one, _FIELDS), lambda one: _as_fields(one, _SENT), _member_with_fields)


def _by_quantity(told: dict[str, Any]) -> None:
    names = _OF_PODS if _of_pods(told) else {}
    told["impact"] = {names.get(name, name): value for name, value in told["impact"].items() if value is not None}


def _as_fields(told: dict[str, Any], fields: tuple[str, ...]) -> None:
    names = {new: old for old, new in _OF_PODS.items()} if _of_pods(told) else {}
    known = {names.get(name, name): value for name, value in told["impact"].items()}
    told["impact"] = {name: known.get(name) for name in fields}


def _of_pods(told: dict[str, Any]) -> bool:
    return str(told["cause"]).startswith("pods/")


def _member_with_impact(member: dict[str, Any]) -> None:
    values = {name: member.pop(name, None) for name in _OF_MEMBERS}
    member["impact"] = {name: value for name, value in values.items() if value is not None}


def _member_with_fields(member: dict[str, Any]) -> None:
    impact = member.pop("impact", {})
    member.update({name: impact.get(name) for name in _OF_MEMBERS})


def _rewrite(finding: Change, sent: Change, member: Change) -> None:
    """Findings of incidents, risks and reports, what was or will be sent, and who else is affected."""
    _each("incidents", "finding", finding)
    _each("risks", "finding", finding)
    _each("analyses", "report", lambda report: _all(report.get("findings", ()), finding))
    _each("deliveries", "payload", lambda payload: sent(payload["incident"]))
    _each("incidents", "also_affected", lambda members: _all(members, member))


def _all(several: Iterable[dict[str, Any]], change: Change) -> None:
    for one in several:
        change(one)


def _each(name: str, column: str, change: Callable[[Any], None]) -> None:
    connection = op.get_bind()
    table = sa.table(name, sa.column("id", sa.BigInteger), sa.column(column, JSONB))
    stored = sa.select(table.c.id, table.c[column]).where(table.c[column].is_not(None))
    for identity, content in connection.execute(stored).all():
        if content:
            change(content)
            connection.execute(table.update().where(table.c.id == identity).values({column: content}))
