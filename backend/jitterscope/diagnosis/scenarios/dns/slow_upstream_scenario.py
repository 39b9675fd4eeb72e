"""Upstreams that are slow on their own, all the time or for a while; and servers that only wait for another one."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.dns.chains import forwarder, nodelocal, run
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Name
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "dns/slow_upstream"


def _fault(name: str, load: DnsLoad, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"slow_upstream/{name}", ID, partial(run, load), hurts, note)


def _fine(name: str, load: DnsLoad) -> Scenario:
    return Scenario(f"slow_upstream/healthy: {name}", None, partial(run, load))


NAMES = tuple(Name(f"host{i}.example.com.") for i in range(40))
_UDP = {"transport": "udp", "force_tcp": False}

SCENARIOS = (
    _fault("takes 1.5 s", forwarder(qps=150, seconds=15, seed=21, resolver={"delay_us": 1_500_000})),
    _fault("for some seconds", forwarder(qps=200, seconds=25, seed=22, resolver={"delays": ((10, 6, 400_000),)})),
    _fault("one answer in ten", forwarder(qps=100, seconds=20, seed=23,
           resolver={"tail_ratio": 0.1, "tail_us": 1_400_000})),
    _fault("behind a dnsmasq", nodelocal(qps=60, seconds=20, seed=24, forward=_UDP,
           kubedns={"delay_us": 3_000, "delays": ((8, 8, 1_200_000),)})),
    _fault("a dnsmasq that runs out of connections for it", nodelocal(qps=150, seconds=18, seed=25,
           kubedns={"delay_us": 5_000, "delays": ((7, 9, 900_000),)})),
    _fault("falls silent under load", nodelocal(qps=300, seconds=7.6, seed=51,
           kubedns={"delay_us": 50_000, "delays": ((6, 20, 3_000_000),)}),
           note="dnsmasq runs out of connections at once; no answer tells yet how long they are held"),
    _fault("answers no more", nodelocal(qps=200, seconds=12, seed=54,
           kubedns={"delay_us": 20_000, "delays": ((6, 20, 30_000_000),)})),
    _fault("never answers what is not in its cache", forwarder(qps=200, seconds=18, seed=75, names=NAMES,
           resolver={"cache_ratio": 0.5, "delays": ((8, 30, 30_000_000),)}),
           note="what it knows is answered as quickly as ever"),
    _fault("has never answered what is not in its cache", forwarder(qps=200, seconds=15, seed=75, names=NAMES,
           resolver={"cache_ratio": 0.8, "delays": ((0, 30, 30_000_000),)})),
    _fault("takes 3 s for what is not in its cache", forwarder(qps=200, seconds=18, seed=76, names=NAMES,
           resolver={"cache_ratio": 0.9, "delays": ((8, 30, 3_000_000),)})),
    _fault("never answers most of what it does not know, when more is asked", forwarder(qps=100, bursts=((8, 30, 300),),
           seconds=20, seed=77, names=NAMES, resolver={"cache_ratio": 0.33, "delays": ((8, 30, 30_000_000),)}),
           note="answers stay at one rate as at a limit, but what is asked again is not answered either"),
    _fault("on another node, by counters", forwarder(qps=120, seconds=20, seed=26,
           resolver={"captured": False, "delays": ((8, 8, 1_300_000),)})),
    _fine("usually 50 ms", forwarder(qps=200, seconds=15, seed=27, resolver={"delay_us": 50_000})),
    _fine("usually 400 ms", forwarder(qps=50, seconds=15, seed=28, resolver={"delay_us": 400_000})),
    _fine("one answer in ten takes 200 ms", forwarder(qps=150, seconds=15, seed=29,
          resolver={"tail_ratio": 0.1, "tail_us": 200_000})),
    _fine("two hops in front of it", nodelocal(subject=0, qps=60, seconds=16, seed=30, forward=_UDP,
          kubedns={"delay_us": 3_000, "delays": ((8, 8, 1_200_000),)})),
    Scenario(
        "slow_upstream/near miss: out of connections",
        "dns/dnsmasq_connection_exhaustion",
        partial(run, nodelocal(qps=100, bursts=((6, 20, 700),), seconds=14, seed=31)),
        note="the upstream takes 50 ms as ever; answers are late for want of connections",
    ),
    Scenario(
        "slow_upstream/near miss: idle connections",
        "dns/connection_pool_churn",
        partial(run, nodelocal(qps=10, volleys=(12.0, 30), seconds=16, seed=32, kubedns={"delay_us": 4_000})),
    ),
    Scenario(
        "slow_upstream/near miss: lost datagrams",
        "dns/udp_loss",
        partial(run, forwarder(qps=300, seconds=15, seed=33, forward={"loss_ratio": 0.02})),
        note="late answers take 2 s, but the upstream answers what reaches it in 2 ms",
    ),
)  # fmt: skip
