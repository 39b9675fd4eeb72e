"""More connections than dnsmasq serves, at several rates and delays; the edge of its limit; and look-alikes."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.dns.chains import forwarder, nodelocal, run
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "dns/dnsmasq_connection_exhaustion"


def _fault(name: str, load: DnsLoad, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"dnsmasq_connection_exhaustion/{name}", ID, partial(run, load), hurts, note)


def _fine(name: str, load: DnsLoad) -> Scenario:
    return Scenario(f"dnsmasq_connection_exhaustion/healthy: {name}", None, partial(run, load))


SCENARIOS = (
    _fault("case 4", nodelocal(qps=300, bursts=((6, 20, 800),), seconds=16)),
    _fault("a second after it began", nodelocal(qps=300, bursts=((6, 20, 800),), seconds=7, seed=2)),
    _fault("half a second after it began", nodelocal(qps=100, bursts=((6, 20, 800),), seconds=6.5, seed=3)),
    _fault("from the start", nodelocal(qps=700, seconds=12, seed=4)),
    _fault("upstream takes 200 ms", nodelocal(qps=40, bursts=((5, 20, 250),), seconds=14, seed=5,
           kubedns={"delay_us": 200_000})),
    _fault("upstream takes 12 ms", nodelocal(qps=400, bursts=((4, 20, 2800),), seconds=8, seed=6,
           kubedns={"delay_us": 12_000})),
    _fault("a limit of 50", nodelocal(qps=300, bursts=((5, 20, 1600),), seconds=10, seed=7,
           dnsmasq={"child_limit": 50})),
    _fault("servers in front on other nodes", nodelocal(qps=300, bursts=((6, 20, 800),), seconds=14, seed=8,
           node_local={"captured": False})),
    _fault("upstream not seen", nodelocal(qps=300, bursts=((6, 20, 800),), seconds=14, seed=9,
           kubedns={"captured": False})),
    _fault("a newer CoreDNS in front", nodelocal(qps=200, bursts=((6, 20, 900),), seconds=14, seed=10,
           node_local={"version": "1.14.5"}, forward={"pool": "fifo"})),
    _fine("15 connections wanted", nodelocal(qps=300, seconds=15, seed=11)),
    _fine("its edge", nodelocal(qps=340, evenness=1.0, seconds=15, seed=12)),
    _fine("a limit of 200", nodelocal(qps=300, bursts=((6, 20, 800),), seconds=12, seed=13,
          dnsmasq={"child_limit": 200})),
    _fine("prefer_udp", nodelocal(qps=300, bursts=((6, 20, 800),), seconds=12, seed=14,
          forward={"transport": "udp", "force_tcp": False, "prefer_udp": True})),
    _fine("seen from the server in front", nodelocal(subject=0, qps=300, bursts=((6, 20, 800),), seconds=14, seed=15)),
    Scenario(
        "dnsmasq_connection_exhaustion/near miss: an upstream that takes 3 s",
        "dns/slow_upstream",
        partial(run, nodelocal(qps=37, bursts=((5, 20, 300),), seconds=16, seed=16, kubedns={"delay_us": 3_000_000})),
        note="connections run short too, because each is held for 3 s",
    ),
    Scenario(
        "dnsmasq_connection_exhaustion/near miss: idle connections",
        "dns/connection_pool_churn",
        partial(run, nodelocal(qps=10, volleys=(12.0, 27), seconds=16, seed=17, kubedns={"delay_us": 4_000})),
        note="connections wait behind 20 that nobody uses",
    ),
    Scenario(
        "dnsmasq_connection_exhaustion/near miss: lost datagrams",
        "dns/udp_loss",
        partial(run, forwarder(qps=300, seconds=15, seed=18, forward={"loss_ratio": 0.01})),
        note="answers take 2 s as they do when connections are exhausted",
    ),
)  # fmt: skip
