"""What the cluster says about a node, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping


def show_conditions(value: str | None) -> str | None:
    """Those that are not as they should be: all but Ready are troubles."""
    conditions = json.loads(value or "null")
    if not isinstance(conditions, Mapping):
        return None
    found = [name for name, status in sorted(conditions.items()) if name != "Ready" and status == "True"]
    ready = conditions.get("Ready", "True")
    if ready != "True":
        found.insert(0, "not Ready" if ready == "False" else "Ready unknown")
    return ", ".join(found) or "healthy"


def show_taints(value: str | None) -> str | None:
    taints = json.loads(value or "null")
    return ", ".join(map(str, taints)) or "none" if isinstance(taints, list) else None
