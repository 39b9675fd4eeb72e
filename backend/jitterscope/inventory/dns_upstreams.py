"""Which servers are behind the address that a DNS server queries, on any node."""

from __future__ import annotations

import ipaddress

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope.inventory import addresses, facts, tree
from jitterscope.inventory.neighbours import Endpoint, endpoint_of

# A node's own address (loopback, link-local) means a server on the same node.
_AT = text(
    "SELECT id FROM resources WHERE kind = 'dns_server' AND split_part(key, '@', 1) = :key "
    "AND (NOT :local OR node_id = :node)"
)
_CLIENT_OF = text(
    "SELECT DISTINCT parent_id FROM resources WHERE kind = 'dns_path' AND split_part(key, '>', 1) = ANY(:clients) "
    "AND split_part(split_part(key, '>', 2), '@', 1) LIKE :port AND parent_id IS NOT NULL "
    "AND last_seen_at >= to_timestamp(:from_us / 1e6)"
).bindparams(bindparam("clients", type_=ARRAY(TEXT)))
_HOMES = text(
    """
    WITH RECURSIVE up AS (
        SELECT parent_id AS at, 0 AS depth FROM resources WHERE id = ANY(:servers)
        UNION
        SELECT r.parent_id, up.depth + 1 FROM up JOIN resources r ON r.id = up.at
         WHERE up.depth < 16 AND r.kind <> 'cgroup'
    )
    SELECT DISTINCT r.id FROM up JOIN resources r ON r.id = up.at AND r.kind = 'cgroup'
    """
).bindparams(bindparam("servers", type_=ARRAY(BIGINT)))


def cgroups_at(session: Session, cgroup_id: int, upstream: str, from_us: int, to_us: int) -> set[int]:
    """Cgroups of the DNS servers that answer when a cgroup queries `upstream` ("ADDRESS:PORT"), without itself.

    A Service's address belongs to no server: behind it are those that list the cgroup's addresses among their clients.
    """
    asker = tree.by_id(session, [cgroup_id]).get(cgroup_id)
    endpoint = endpoint_of(upstream)
    address = _parsed(endpoint.address)
    if asker is None or address is None:
        return set()
    local = address.is_loopback or address.is_link_local
    wanted = {"key": _key(endpoint), "local": local, "node": asker.node_id}
    servers = set(session.execute(_AT, wanted).scalars())
    if not servers and address.is_private and not local:
        clients = _own_addresses(session, cgroup_id, from_us, to_us)
        since_us = from_us - tree.SEEN_SLACK_US
        wanted = {"clients": clients, "port": f"%:{endpoint.port}", "from_us": since_us}
        servers = set(session.execute(_CLIENT_OF, wanted).scalars()) if clients else set()
    homes = session.execute(_HOMES, {"servers": sorted(servers)}).scalars() if servers else ()
    return set(homes) - {cgroup_id}


def _own_addresses(session: Session, cgroup_id: int, from_us: int, to_us: int) -> list[str]:
    known = facts.in_effect(session, [cgroup_id], from_us, to_us, [addresses.FACT])[cgroup_id]
    found = [one for fact in known for one in addresses.listed(fact.value)]
    return [one for one in found if (parsed := _parsed(one)) is not None and not parsed.is_loopback]


def _key(endpoint: Endpoint) -> str:
    address = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
    return f"{address}:{endpoint.port}"


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
