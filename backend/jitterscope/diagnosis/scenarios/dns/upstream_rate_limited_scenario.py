"""Forwarders above the rate limit of their resolver; and failures or high rates without a limit."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.dns import search_domain_amplification_scenario as searched
from jitterscope.diagnosis.scenarios.dns.chains import forwarder
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Forward, Hop, Name
from jitterscope.diagnosis.scenarios.dns.simulate import simulate_dns
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "dns/upstream_rate_limited"
COREFILE = ".:53 {\n    errors\n    forward . 8.8.8.8 8.8.4.4\n    cache 30\n}\n"
GKE, EKS = {"kube.server_version": "v1.30.5-gke.1014001"}, {"kube.server_version": "v1.31.2-eks-7f9249a"}
NAMES = tuple(Name(f"host{i}.example.com.") for i in range(40))


def _two(*addresses: str) -> str:
    return json.dumps([{"zone": ".", "address": address, "port": 53} for address in addresses])


def _chain(
    limit: float, address: str, over: str = "drop", facts: dict[str, str] | None = None, **more: object
) -> tuple[Hop, Hop]:
    told = corefile_facts(COREFILE) | {"dns.negative_cache": "yes"} | (facts or {})
    server = Hop("coredns", "10.96.0.10:53", version="1.11.1", forward=Forward(), facts=told)
    upstream = Hop("resolver", f"{address}:53", delay_us=4_000, captured=False, answers_per_s=limit, over=over)  # type: ignore[arg-type]
    return replace(server, **more), upstream  # type: ignore[arg-type]


def _run(load: DnsLoad) -> Snapshot:
    return simulate_dns(load).snapshot


GOOGLE = _chain(1500, "8.8.8.8", "refused", {"dns.upstreams": _two("8.8.8.8", "8.8.4.4")})
BASE = DnsLoad(hops=GOOGLE, names=NAMES, qps=700, seconds=18, bursts=((4.0, 4.0, 2200.0),), node_facts=GKE)
# On the same node, counted like unbound: up to the limit at once, then none until the next second.
BY_SECOND = forwarder(
    qps=100, bursts=((8.0, 22.0, 600.0),), seed=71, names=NAMES, resolver={"answers_per_s": 300.0, "by_second": True}
)
OWN = _chain(400, "10.20.0.53", "servfail")


def _fault(name: str, load: DnsLoad, hurts: bool = True) -> Scenario:
    return Scenario(f"upstream_rate_limited/{name}", ID, partial(_run, load), hurts)


def _aside(name: str, load: DnsLoad) -> Scenario:
    return Scenario(f"upstream_rate_limited/look-alike: {name}", None, partial(_run, load))


SCENARIOS = (
    _fault("Google refuses what is above 1,500", BASE),
    _fault("all the time", replace(BASE, qps=1900, bursts=(), seconds=10, seed=2)),
    _fault("two bursts", replace(BASE, bursts=((3.0, 2.0, 2600.0), (11.0, 3.0, 1900.0)), seed=3)),
    _fault("the resolver of an AWS VPC", replace(
        BASE, hops=_chain(1024, "10.0.0.2", "servfail"), node_facts=EKS, bursts=((4.0, 4.0, 1600.0),), seed=4)),
    _fault("what is above is dropped", replace(BASE, hops=_chain(1024, "169.254.169.253"), qps=600, seconds=22,
                                               bursts=((3.0, 4.0, 1500.0),), node_facts=EKS, seed=11)),
    _fault("half from the cache", replace(
        BASE, hops=(replace(GOOGLE[0], cache_ratio=0.5), GOOGLE[1]), qps=1200, bursts=((5.0, 4.0, 4200.0),), seconds=14,
        seed=5)),
    _fault("a limit that nobody published", replace(BASE, hops=OWN, qps=250, bursts=((4.0, 5.0, 700.0),), seed=6)),
    _fault("near the limit: a risk", replace(
        BASE, qps=1000, bursts=((5.0, 5.0, 1350.0),), seconds=14, seed=7), hurts=False),
    _fault("half of each second is answered, the rest dropped", replace(BY_SECOND, seconds=32)),
    _fault("half of each second, until the load ends", replace(BY_SECOND, seconds=33)),
    Scenario(
        "upstream_rate_limited/near miss: search domains make most of the rate",
        "dns/search_domain_amplification",
        partial(_run, replace(
            searched.BASE, hops=(replace(searched.BASE.hops[0], facts=GOOGLE[0].facts),
                                 replace(GOOGLE[1], delay_us=12_000)), qps=900, seconds=14, seed=12)),
    ),
    Scenario(
        "upstream_rate_limited/near miss: a resolver that takes 1.5 s, whatever the rate",
        "dns/slow_upstream",
        partial(_run, replace(
            BASE, hops=(GOOGLE[0], replace(GOOGLE[1], delay_us=1_500_000, answers_per_s=None)), qps=150,
            bursts=((5.0, 5.0, 400.0),), seed=13)),
    ),
    Scenario(
        "upstream_rate_limited/near miss: datagrams that get lost at any rate",
        "dns/udp_loss",
        partial(_run, replace(
            BASE, hops=(replace(GOOGLE[0], forward=Forward(loss_ratio=0.02)), replace(GOOGLE[1], answers_per_s=None)),
            qps=200, bursts=((6.0, 5.0, 260.0),), seed=14)),
    ),
    _aside("far below the limit", replace(BASE, qps=500, bursts=(), seed=8)),
    _aside("failures at any rate", replace(
        BASE, qps=300, bursts=((4.0, 4.0, 600.0),), names=(*NAMES, Name("broken.example.com.", 1.0, "A", 2)), seed=9)),
    _aside("the cache answers", replace(
        BASE, hops=(replace(GOOGLE[0], cache_ratio=0.8), GOOGLE[1]), seconds=12, seed=10)),
)  # fmt: skip
