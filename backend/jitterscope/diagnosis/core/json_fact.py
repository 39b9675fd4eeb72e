"""Facts whose value is a JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def parsed(value: str | None) -> Mapping[str, Any] | None:
    """The object; None if the fact is not known, or its value is no JSON object."""
    try:
        found = json.loads(value or "null")
    except ValueError:
        return None
    return found if isinstance(found, Mapping) else None
