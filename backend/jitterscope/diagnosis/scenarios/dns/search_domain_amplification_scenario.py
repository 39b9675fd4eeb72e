"""Pods whose search lists are walked on the way to names that exist; and NXDOMAIN answers with other reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.core.query_results import NOERROR
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs.resolv_conf import ResolvConf
from jitterscope.diagnosis.scenarios.dns.chains import nodelocal
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Forward, Hop, Name
from jitterscope.diagnosis.scenarios.dns.names import Lookup, as_collected, asked, kubernetes, workload_facts
from jitterscope.diagnosis.scenarios.dns.simulate import simulate_dns
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "dns/search_domain_amplification"
COREFILE = """.:53 {
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        ttl 30
    }
    forward . 10.0.0.2
    cache 30
    loop
}
"""
GKE = ("europe-west1-b.c.project.internal", "c.project.internal", "google.internal")
SHOP, PAY = kubernetes("shop", *GKE), kubernetes("pay")
SHOP_NAMES = (
    Lookup("api.signicat.com", "api.signicat.com", 6, ("A", "AAAA")),
    Lookup("storage.googleapis.com", "storage.googleapis.com", 3),
    Lookup("db", "db.shop.svc.cluster.local", 4),
    Lookup("auth.pay", "auth.pay.svc.cluster.local", 2),
)
PAY_NAMES = (Lookup("github.com", "github.com", 2), Lookup("ledger", "ledger.pay.svc.cluster.local", 2))
PODS: Mapping[str, Mapping[str, str]] = {
    "/kubepods/shop-web": workload_facts(SHOP, "shop", "web-7c9f-x2kzp", ["10.8.0.3"], "Deployment/web"),
    "/kubepods/pay-api": workload_facts(PAY, "pay", "api-5d4b-q9wzn", ["10.8.0.4"], "Deployment/api"),
}


def _server(delay_us: float = 12_000, **more: object) -> tuple[Hop, Hop]:
    facts = corefile_facts(COREFILE) | {"dns.negative_cache": "yes"}
    server = Hop("coredns", "10.96.0.10:53", version="1.11.1", forward=Forward(), facts=facts)
    return replace(server, **more), Hop("upstream", "10.0.0.2:53", delay_us=delay_us, captured=False)  # type: ignore[arg-type]


def _pods(shop: ResolvConf = SHOP, pay: ResolvConf = PAY) -> tuple[Name, ...]:
    return (*asked("10.8.0.3", shop, SHOP_NAMES), *asked("10.8.0.4", pay, PAY_NAMES))


def _run(load: DnsLoad) -> Snapshot:
    return as_collected(simulate_dns(load).snapshot)


BASE = DnsLoad(hops=_server(), names=_pods(), workloads=PODS, qps=300, seconds=20)
_MANY = asked("10.8.0.3", SHOP, [Lookup(f"api{i}.partner.example", f"api{i}.partner.example") for i in range(60)])
_LAN = ResolvConf(("192.168.1.1",), ("lan",), 2)
_TYPOS = tuple(Lookup(f"api{i}.exmaple.com", None, 2) for i in range(5))


def _fault(name: str, load: DnsLoad, hurts: bool = True) -> Scenario:
    return Scenario(f"search_domain_amplification/{name}", ID, partial(_run, load), hurts)


def _aside(name: str, load: DnsLoad) -> Scenario:
    return Scenario(f"search_domain_amplification/look-alike: {name}", None, partial(_run, load))


SCENARIOS = (
    _fault("every look-up waits for six denials", BASE),
    _fault("resolv.conf unknown", replace(BASE, workloads={}, seed=2)),
    _fault("addresses unknown", replace(
        BASE, seed=3, workloads={k: {n: v for n, v in f.items() if n != "net.addresses"} for k, f in PODS.items()})),
    _fault("many names, few of them listed", replace(BASE, names=_MANY, seed=13, qps=600)),
    _fault("many names, resolv.conf unknown", replace(BASE, names=_MANY, workloads={}, seed=14, qps=600, seconds=30)),
    _fault("low rate, slow path", replace(BASE, hops=_server(18_000), qps=40, seconds=40, seed=4)),
    _fault("one search domain, one name", replace(
        BASE, workloads={}, seed=5, hops=_server(18_500), qps=200,
        names=asked("192.168.1.7", replace(_LAN, ndots=3, search=("lan", "home.arpa")), (
            Lookup("api.signicat.com", "api.signicat.com"), )))),
    _fault("answered at once: a risk", replace(BASE, hops=_server(300), qps=800, seed=6), hurts=False),
    _fault("behind a dnsmasq out of connections: a risk", nodelocal(
        subject=0, node_local={"facts": {"dns.negative_cache": "yes"}}, names=_pods(),
        workloads=PODS, qps=500, seconds=12, seed=16), hurts=False),
    _aside("names that do not exist", replace(BASE, names=(
        *asked("10.8.0.3", replace(SHOP, ndots=1), (*_TYPOS, Lookup("api.signicat.com", "api.signicat.com", 3))),
    ), hops=_server(300), workloads={}, seed=7)),
    _aside("names that do not exist, searched", replace(BASE, names=(
        *asked("10.8.0.3", SHOP, _TYPOS), Name("api.signicat.com.", 20, "A", NOERROR, "10.8.0.3"),
    ), hops=_server(300), seed=8)),
    _aside("many names that do not exist, searched", replace(BASE, names=(
        *asked("10.8.0.3", SHOP, [Lookup(f"api{i}.exmaple.com", None) for i in range(60)]),
        *(Name(f"api{i}.example.com.", 3, "A", NOERROR, "10.8.0.3") for i in range(20)),
    ), hops=_server(300), qps=600, seed=15)),
    _aside("A and AAAA of full names", replace(BASE, names=asked(
        "10.8.0.3", replace(SHOP, ndots=1), (Lookup("api.signicat.com.", "api.signicat.com", 3, ("A", "AAAA")),
                                              Lookup("github.com.", "github.com", 1, ("A", "AAAA")))), seed=9)),
    _aside("ndots:1", replace(BASE, names=_pods(replace(SHOP, ndots=1), replace(PAY, ndots=1))[:4], seed=10)),
    Scenario(
        "search_domain_amplification/near miss: denials are forgotten",
        "dns/no_negative_cache",
        partial(_run, replace(
            BASE, seed=11, names=(*asked("10.8.0.3", replace(SHOP, ndots=1), (*_TYPOS, Lookup("a.b", "a.b", 3))), ),
            hops=_server(25_000, facts={"dns.negative_cache": "no"}))),
    ),
)  # fmt: skip
