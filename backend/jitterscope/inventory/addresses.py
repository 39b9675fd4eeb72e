"""IP addresses of containers, from the fact `net.addresses`."""

from __future__ import annotations

import json
from collections.abc import Collection

from sqlalchemy.orm import Session

from jitterscope.inventory.store import dns_servers, facts

FACT = "net.addresses"
# Containers whose addresses one answer compares.
MAX_CGROUPS = 5000


def listed(value: str) -> list[str]:
    """The addresses in a fact; empty if it cannot be parsed."""
    try:
        found = json.loads(value)
    except ValueError:
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def cgroups(session: Session, wanted: Collection[str], from_us: int, to_us: int) -> dict[str, list[int]]:
    """Ids of the cgroups seen in a window that have each address; containers of one pod share theirs."""
    found: dict[str, list[int]] = {}
    if not wanted:
        return found
    with facts.addresses(session, FACT, **dns_servers.around(from_us, to_us), limit=MAX_CGROUPS) as rows:
        for cgroup_id, value in rows:
            for address in listed(value):
                if address in wanted:
                    found.setdefault(address, []).append(cgroup_id)
    return found
