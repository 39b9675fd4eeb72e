"""Fixes carry what they predict by the measure's id: findings that are stored follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "20261123_1320"
down_revision = "20261123_1250"
depends_on = None
branch_labels = None

# Field before → measure; of pod starts the share of slow ones is of starts.
_FIELDS = {"predicted_slow_ratio": "slow_ratio", "predicted_throttled_ratio": "throttled_ratio"}
_OF_PODS = "late_start_ratio"


def upgrade() -> None:
    _rewrite(_by_measure)


def downgrade() -> None:
    _rewrite(_by_field)


def _rewrite(change: Callable[[dict[str, Any], bool], None]) -> None:
    connection = op.get_bind()
    for name in ("incidents", "risks"):
        table = sa.table(name, sa.column("id", sa.BigInteger), sa.column("finding", JSONB))
        for identity, finding in connection.execute(sa.select(table.c.id, table.c.finding)).all():
            of_pods = str(finding.get("cause", "")).startswith("pods/")
            for fix in finding.get("fixes", ()):
                change(fix, of_pods)
            connection.execute(table.update().where(table.c.id == identity).values(finding=finding))


def _by_measure(fix: dict[str, Any], of_pods: bool) -> None:
    said = {measure: fix.pop(field, None) for field, measure in _FIELDS.items()}
    if of_pods:
        said = {_OF_PODS: said["slow_ratio"]}
    fix["predicted"] = {measure: one for measure, one in said.items() if one is not None}


def _by_field(fix: dict[str, Any], of_pods: bool) -> None:
    said = fix.pop("predicted", {})
    for field, measure in _FIELDS.items():
        fix[field] = said.get(_OF_PODS if of_pods and measure == "slow_ratio" else measure)
