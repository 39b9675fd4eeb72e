"""Rates beyond which well-known resolvers stop answering, each with its source."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Literal

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs.dns_upstreams import Upstream


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `per_s` of `unit` from one `counted_by`; addresses of one operator share it."""

    operator: str
    per_s: float
    unit: Literal["queries", "packets"]
    counted_by: Literal["public IP address", "network interface"]
    what_happens: str
    source: str
    addresses: frozenset[str]


GOOGLE = Limit(
    operator="Google Public DNS",
    per_s=1500.0,
    unit="queries",
    counted_by="public IP address",
    what_happens="queries above it stay unanswered or get an error; bursts of a second or two are let through",
    source="https://developers.google.com/speed/public-dns/docs/isp",
    addresses=frozenset({"8.8.8.8", "8.8.4.4", "2001:4860:4860::8888", "2001:4860:4860::8844"}),
)
AWS = Limit(
    operator="Route 53 Resolver of the VPC",
    per_s=1024.0,
    unit="packets",
    counted_by="network interface",
    what_happens="packets above it are dropped, repeated queries count too",
    source="https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html",
    addresses=frozenset({"169.254.169.253", "fd00:ec2::253"}),
)
LIMITS = (GOOGLE, AWS)


def limit_of(snapshot: Snapshot, upstream: Upstream) -> Limit | None:
    """The published limit of an upstream; None if no limit is known.

    In an AWS VPC, its resolver also has the address "network plus two". 169.254.169.254 answers DNS on Google Cloud,
    where no figure is published.
    """
    for limit in LIMITS:
        if upstream.address in limit.addresses:
            return limit
    if "-eks-" in (snapshot.node.fact("kube.server_version") or "") and _is_plus_two(upstream.address):
        return AWS
    return None


def _is_plus_two(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    # A VPC is a private network of /16 to /28: its second address ends in 2 modulo 16.
    return parsed.version == 4 and parsed.is_private and not parsed.is_link_local and int(parsed) % 16 == 2
