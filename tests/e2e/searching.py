"""A node whose DNS server gets several queries per lookup from one pod, and one from another."""

from __future__ import annotations

import json

import httpx
import numpy as np

from tests.e2e.recorded_batches import HEADERS
from tests.support.batches import CGROUP, DNS_SERVER, TICK_US, BatchBuilder, now_us

NODE = "search-node"
# More than any other node of these tests has: the DNS page opens with it.
ADDRESSES = tuple(f"10.7.0.{last}:53" for last in range(10, 14))
# Pod, its address, and the queries of one lookup of api.example.com.
PODS = (("steady-6d9", "10.7.1.8", 1), ("web-7c9", "10.7.1.7", 4))
SEARCH = ("shop.svc.cluster.local", "svc.cluster.local", "cluster.local")
LOOKUPS, TICKS = 300, 100


def rows() -> list[list[str | int]]:
    """Client, name, type, queries, NXDOMAIN and SERVFAIL answers, and the time of all answers (µs)."""
    listed: list[list[str | int]] = []
    for _, address, queries in PODS:
        wasted = (f"api.example.com.{domain}." for domain in SEARCH[: queries - 1])
        listed += [[address, name, "A", LOOKUPS, LOOKUPS, 0, 400 * LOOKUPS] for name in wasted]
        listed.append([address, "api.example.com.", "A", LOOKUPS, 0, 0, 900 * LOOKUPS])
    return listed


def feed(url: str, token: str) -> None:
    """Send the last 10 s."""
    builder = BatchBuilder(NODE)
    start_us = now_us() - TICKS * TICK_US
    builder.fact(0, "node.hostname", NODE, start_us)
    for pod, address, _ in PODS:
        index = builder.resource(CGROUP, f"/kubepods/burstable/{pod}/{pod}")
        resolv_conf = {"nameservers": ["10.7.0.10"], "search": list(SEARCH), "ndots": 5, "options": []}
        facts = {
            "workload.manager": "kubernetes", "workload.namespace": "shop", "workload.pod": pod,
            "workload.container": pod, "net.addresses": json.dumps([address]),
            "dns.resolv_conf": json.dumps(resolv_conf),
        }  # fmt: skip
        for name, value in facts.items():
            builder.fact(index, name, value, start_us)
    servers = [builder.resource(DNS_SERVER, address) for address in ADDRESSES]
    asked = sum(int(row[3]) for row in rows())
    per_tick = np.full(TICKS, asked / TICKS)
    builder.block(
        {(server, metric): per_tick for server in servers for metric in ("dns_queries", "dns_answers")}, start_us
    )
    builder.batch.events.add(
        resource=servers[0],
        kind="dns.names",
        start_us=start_us,
        duration_us=TICKS * TICK_US,
        attributes={
            "rows": json.dumps(rows()), "queries": str(asked), "nxdomain": str(3 * LOOKUPS), "names": "4",
        },
    )  # fmt: skip
    headers = {"Authorization": f"Bearer {token}", **HEADERS}
    httpx.post(f"{url}/api/v1/ingest", content=builder.body(), headers=headers, timeout=30).raise_for_status()
