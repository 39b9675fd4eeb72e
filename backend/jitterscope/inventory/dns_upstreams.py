"""Which servers are behind the address that a DNS server queries, on any node."""

from __future__ import annotations

import ipaddress

from sqlalchemy.orm import Session

from jitterscope.inventory import addresses
from jitterscope.inventory.neighbours import Endpoint, endpoint_of
from jitterscope.inventory.store import dns_servers, facts, tree


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
    servers = dns_servers.at(session, _key(endpoint), asker.node_id, local=local)
    if not servers and address.is_private and not local:
        clients = _own_addresses(session, cgroup_id, from_us, to_us)
        servers = dns_servers.asked_by(session, clients, endpoint.port, from_us) if clients else set()
    homes = dns_servers.homes(session, servers) if servers else {}
    return set(homes.values()) - {cgroup_id}


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
