"""Connections opened in bursts and kept unused; and connections that the load needs."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.dns.chains import forwarder, nodelocal, run
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "dns/connection_pool_churn"


def _fault(name: str, load: DnsLoad, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"connection_pool_churn/{name}", ID, partial(run, load), hurts, note)


def _fine(name: str, load: DnsLoad) -> Scenario:
    return Scenario(f"connection_pool_churn/healthy: {name}", None, partial(run, load))


_QUICK = {"delay_us": 4_000}

SCENARIOS = (
    _fault("a volley of 28", nodelocal(qps=10, volleys=(12.0, 28), seconds=16, seed=41, kubedns=_QUICK)),
    _fault("a volley of 45", nodelocal(qps=20, volleys=(12.0, 45), seconds=14, seed=42, kubedns=_QUICK)),
    _fault("a limit of 50", nodelocal(qps=15, volleys=(12.0, 70), seconds=15, seed=43, kubedns=_QUICK,
           dnsmasq={"child_limit": 50})),
    _fault("half a second after it began", nodelocal(qps=10, volleys=(12.0, 30), seconds=6.5, seed=44, kubedns=_QUICK)),
    _fault("opened again every 3 s", nodelocal(subject=0, qps=4, volleys=(3.0, 40), seconds=24, seed=45, kubedns=_QUICK,
           dnsmasq={"child_limit": 200}), hurts=False, note="nobody waits: a risk"),
    _fault("opened again every 2 s, seen nowhere else", nodelocal(subject=0, qps=2, volleys=(2.0, 16), seconds=24,
           seed=46, kubedns=_QUICK, dnsmasq={"child_limit": 200, "captured": False}), hurts=False),
    _fine("a steady load", nodelocal(subject=0, qps=200, seconds=15, seed=47)),
    _fine("few queries", nodelocal(subject=0, qps=10, evenness=0.0, seconds=20, seed=48, kubedns=_QUICK)),
    Scenario(
        "connection_pool_churn/near miss: connections that are needed",
        "dns/dnsmasq_connection_exhaustion",
        partial(run, nodelocal(qps=200, bursts=((5, 20, 900),), seconds=13, seed=49)),
    ),
    Scenario(
        "connection_pool_churn/near miss: connections that wait for a slow upstream",
        "dns/slow_upstream",
        partial(run, nodelocal(qps=30, seconds=15, seed=50, kubedns={"delay_us": 2_500_000})),
    ),
    Scenario(
        "connection_pool_churn/near miss: lost datagrams",
        "dns/udp_loss",
        partial(run, forwarder(qps=250, seconds=15, seed=51, forward={"loss_ratio": 0.015})),
    ),
)  # fmt: skip
