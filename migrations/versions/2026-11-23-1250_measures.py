"""Verifications keep the figures of any area: by the measure's id, and blocks as lanes with a title and a unit.

What was stored before is rewritten; the load lane of earlier verifications is not kept apart from the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "20261123_1250"
down_revision = "20261123_1240"
depends_on = None
branch_labels = None

# Field of a block series before → id, title and unit of its lane.
_LANES = {
    "slow_ratio": ("slow_ratio", "Slow answers", "ratio", 1.0),
    "throttled_ms": ("throttled_ms_per_min", "Throttled time", "ms/min", None),
    "throttled_ratio": ("throttled_ratio", "Throttled periods", "ratio", 1.0),
    "gc_cycles": ("gc_cycles_per_min", "GC cycles", "1/min", None),
    "queries_per_s": ("load.queries", "Load", "queries/s", 1.0),
    "cpu_mean": ("load.cpu", "Load", "CPUs in use", 1.0),
}


def upgrade() -> None:
    op.execute("UPDATE incidents SET predictions = jsonb_strip_nulls(predictions) WHERE predictions <> '{}'")
    op.execute(
        "UPDATE verifications SET predicted = jsonb_strip_nulls(predicted), promised = jsonb_strip_nulls(promised)"
    )
    _rewrite(_as_lanes, "better")


def downgrade() -> None:
    _rewrite(_as_fields, None)


def _rewrite(change: Callable[[dict[str, Any]], dict[str, Any]], better: str | None) -> None:
    connection = op.get_bind()
    table = sa.table("verifications", sa.column("id", sa.BigInteger), sa.column("result", JSONB))
    for identity, result in connection.execute(sa.select(table.c.id, table.c.result)).all():
        if not result:
            continue
        for side in ("before", "after"):
            if result.get(side):
                result[side] = change(result[side])
        for one in result.get("measures", ()):
            if better is not None:
                one.setdefault(better, "lower")
            else:
                one.pop("better", None)
        connection.execute(table.update().where(table.c.id == identity).values(result=result))


def _as_lanes(series: dict[str, Any]) -> dict[str, Any]:
    a_minute = 60e6 / series["step_us"]
    lanes: list[dict[str, Any]] = [
        {
            "id": name,
            "title": title,
            "unit": unit,
            "values": [None if one is None else one * (a_minute if scale is None else scale) for one in series[field]],
        }
        for field, (name, title, unit, scale) in _LANES.items()
        if any(one is not None for one in series[field])
    ]
    loads = [one for one in lanes if one["id"].startswith("load.")]
    return {
        "t_us": series["t_us"],
        "step_us": series["step_us"],
        "lanes": [one for one in lanes if one not in loads] + loads[:1],
    }


def _as_fields(series: dict[str, Any]) -> dict[str, Any]:
    a_minute = 60e6 / series["step_us"]
    known = {one["id"]: one["values"] for one in series["lanes"]}
    missing = [None] * len(series["t_us"])
    return {"t_us": series["t_us"], "step_us": series["step_us"]} | {
        field: [
            None if one is None else one / (a_minute if scale is None else scale) for one in known.get(name, missing)
        ]
        for field, (name, _, _, scale) in _LANES.items()
    }
