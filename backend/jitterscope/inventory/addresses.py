"""IP addresses of containers, from the fact `net.addresses`."""

from __future__ import annotations

import json
from collections.abc import Collection

from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.inventory import dns_servers

FACT = "net.addresses"
# The newest value of each cgroup.
_KNOWN = """
    SELECT DISTINCT ON (f.resource_id) f.resource_id, f.value
      FROM facts f JOIN resources r ON r.id = f.resource_id
     WHERE f.name = %(fact)s AND r.kind = 'cgroup' AND r.last_seen_at >= to_timestamp(%(from_us)s / 1e6)
       AND r.first_seen_at < to_timestamp(%(to_us)s / 1e6)
     ORDER BY f.resource_id, f.since_us DESC LIMIT %(limit)s
    """
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
    parameters = {"fact": FACT, "limit": MAX_CGROUPS, **dns_servers.around(from_us, to_us)}
    with counted.rows(session, _KNOWN, parameters) as rows:
        for cgroup_id, value in rows:
            for address in listed(value):
                if address in wanted:
                    found.setdefault(address, []).append(cgroup_id)
    return found
