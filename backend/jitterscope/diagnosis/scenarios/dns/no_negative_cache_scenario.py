"""Servers without a negative cache, so that every such query is forwarded; and some with one, or nothing to cache."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.core.query_results import NOERROR, NXDOMAIN
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.dns import search_domain_amplification_scenario as searched
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Forward, Hop, Name
from jitterscope.diagnosis.scenarios.dns.names import as_collected
from jitterscope.diagnosis.scenarios.dns.simulate import simulate_dns
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "dns/no_negative_cache"
ARGUMENTS = (
    "/usr/sbin/dnsmasq -k --cache-size=1000 --no-negcache --dns-forward-max=1500 --log-facility=- "
    "--server=/cluster.local/127.0.0.1#10053 --server=/in-addr.arpa/127.0.0.1#10053 --max-ttl=30 --no-resolv"
)
# A removed service, a typo, and service discovery that finds nothing.
GONE = (
    Name("metadata.google.internal.cluster.local.", 4, "A", NXDOMAIN),
    Name("old-billing.shop.svc.cluster.local.", 3, "A", NXDOMAIN),
    Name("_grpclb._tcp.api.shop.svc.cluster.local.", 3, "SRV", NXDOMAIN),
    Name("db.shop.svc.cluster.local.", 5, "A", NOERROR),
    Name("web.shop.svc.cluster.local.", 3, "A", NOERROR),
)


def _chain(delay_us: float = 15_000, negative: str = "no", **more: object) -> tuple[Hop, Hop]:
    facts = {"dns.arguments": ARGUMENTS, "dns.negative_cache": negative}
    server = Hop("dnsmasq", "10.0.0.9:53", version="2.80", cache_ratio=0.9, forward=Forward(), facts=facts)
    kubedns = Hop("kube-dns", "127.0.0.1:10053", delay_us=delay_us)
    return replace(server, **more), kubedns  # type: ignore[arg-type]


def _run(load: DnsLoad) -> Snapshot:
    return as_collected(simulate_dns(load).snapshot)


BASE = DnsLoad(hops=_chain(), names=GONE, qps=250, seconds=20)
COREFILE = ".:53 {\n    forward . 127.0.0.1:10053\n    errors\n}\n"
DISABLED = ".:53 {\n    forward . 127.0.0.1:10053\n    cache 30 {\n        disable denial\n    }\n}\n"


def _coredns(corefile: str, **facts: str) -> tuple[Hop, Hop]:
    return _chain(
        25_000,
        software="coredns",
        version="1.11.1",
        facts=corefile_facts(corefile) | {"dns.negative_cache": "no"} | facts,
    )


def _fault(name: str, load: DnsLoad, hurts: bool = True) -> Scenario:
    return Scenario(f"no_negative_cache/{name}", ID, partial(_run, load), hurts)


def _aside(name: str, load: DnsLoad) -> Scenario:
    return Scenario(f"no_negative_cache/look-alike: {name}", None, partial(_run, load))


_MANY = (*GONE[3:], *(Name(f"svc{i}.gone.svc.cluster.local.", 0.1, "A", NXDOMAIN) for i in range(150)))
_ALWAYS_NEW = tuple(Name(f"{i:08x}.scan.example.org.", 1, "A", NXDOMAIN) for i in range(4000))

SCENARIOS = (
    _fault("dnsmasq --no-negcache", replace(BASE, hops=_chain(25_000))),
    _fault("CoreDNS without cache", replace(BASE, hops=_coredns(COREFILE), seed=2)),
    _fault("CoreDNS with denials switched off", replace(BASE, hops=_coredns(DISABLED), seed=3)),
    _fault("seen at the next server only", replace(
        BASE, hops=_chain(25_000, facts={"dns.arguments": "/usr/sbin/dnsmasq -k"}), seed=4)),
    _fault("many names, few of them listed", replace(BASE, hops=_chain(25_000), names=_MANY, qps=500, seed=10)),
    _fault("quick denials: a risk", replace(BASE, hops=_chain(300), qps=600, seed=5), hurts=False),
    _aside("denials are kept", replace(BASE, hops=_chain(negative="yes", negative_cache_ratio=0.98), seed=6)),
    _aside("denials are kept, settings unknown", replace(
        BASE, hops=_chain(facts={"dns.arguments": "/usr/sbin/dnsmasq -k"}, negative_cache_ratio=0.98), seed=7)),
    _aside("names that are never asked twice", replace(BASE, names=_ALWAYS_NEW, qps=200, seed=8)),
    _aside("few denials", replace(BASE, names=(*GONE[3:], replace(GONE[0], share=0.1)), seed=9)),
    Scenario(
        "no_negative_cache/near miss: search domains, denials kept",
        "dns/search_domain_amplification",
        partial(_run, replace(searched.BASE, seed=12)),
    ),
)  # fmt: skip
