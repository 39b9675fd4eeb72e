"""Where a DNS server forwards, and the addresses of servers and their Services: facts, parsed."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass

from jitterscope.diagnosis.core.snapshot import ResourceView
from jitterscope.diagnosis.programs.resolv_conf import normal

WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound

SERVICE_ADDRESSES = "dns.service_addresses"


@dataclass(frozen=True, slots=True)
class Upstream:
    """One server that a zone is forwarded to. None: not in the server's settings."""

    zone: str
    address: str
    port: int
    force_tcp: bool = False
    prefer_udp: bool = False
    max_concurrent: int | None = None
    expire_s: float | None = None

    @property
    def endpoint(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def upstreams(server: ResourceView) -> list[Upstream]:
    """The readable entries of the server's fact; empty if there is none."""
    return parse_upstreams(server.fact("dns.upstreams"))


def parse_upstreams(text: str | None) -> list[Upstream]:
    """The readable entries of the fact `dns.upstreams`."""
    try:
        listed = json.loads(text or "[]")
    except ValueError:
        return []
    return [found for item in listed if (found := _upstream(item)) is not None] if isinstance(listed, list) else []


def service_addresses(server: ResourceView) -> list[str]:
    """Addresses of the Kubernetes Services that select the server's pod; empty: none, or not known."""
    try:
        listed = json.loads(server.fact(SERVICE_ADDRESSES) or "[]")
    except ValueError:
        return []
    return [found for one in listed if (found := parse_address(one)) is not None] if isinstance(listed, list) else []


def _upstream(item: object) -> Upstream | None:
    if not isinstance(item, dict) or (address := parse_address(item.get("address"))) is None:
        return None
    port, limit, zone = item.get("port", 53), item.get("max_concurrent"), item.get("zone", ".")
    expire = item.get("expire_s")
    return Upstream(
        zone=normal(zone) if isinstance(zone, str) else ".",
        address=address,
        port=port if isinstance(port, int) else 53,
        force_tcp=item.get("force_tcp") is True,
        prefer_udp=item.get("prefer_udp") is True,
        max_concurrent=limit if isinstance(limit, int) and limit > 0 else None,
        expire_s=float(expire) if isinstance(expire, int | float) else None,
    )


def parse_address(text: object) -> str | None:
    """An IP address in its usual spelling; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        return str(ipaddress.ip_address(text.strip("[]").partition("%")[0]))
    except ValueError:
        return None


def endpoint(server: ResourceView) -> tuple[str, int] | None:
    """(address, port) of a server's key, "10.0.0.10:53" or "127.0.0.1:53@net:4026531840"; None: unreadable."""
    host, _, port = server.key.partition("@")[0].rpartition(":")
    address = parse_address(host)
    return (address, int(port)) if address is not None and port.isdecimal() else None


def serves(server: ResourceView, upstream: Upstream) -> bool:
    """Whether this server is at the upstream's address. One that listens on a wildcard is at every address."""
    at = endpoint(server)
    return at is not None and at[1] == upstream.port and (at[0] == upstream.address or at[0] in WILDCARDS)


def forwards_to(server: ResourceView, targets: Iterable[ResourceView]) -> list[ResourceView]:
    """Those of `targets` that this server's settings name, by address and port."""
    named = upstreams(server)
    return [target for target in targets if target.id != server.id and any(serves(target, up) for up in named)]
