"""Datagrams lost between servers or at a socket; and answers that are just as late for other reasons."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.dns.chains import forwarder, nodelocal, run
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Forward
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "dns/udp_loss"


def _fault(name: str, load: DnsLoad, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"udp_loss/{name}", ID, partial(run, load), hurts, note)


_BURSTS = {"read_us": 120, "work_us": 300, "buffer_queries": 120, "cache_ratio": 0.95}

SCENARIOS = (
    _fault("one in a hundred", forwarder(qps=300, seconds=20, seed=61, forward={"loss_ratio": 0.01})),
    _fault("one in twenty", forwarder(qps=80, seconds=20, seed=62, forward={"loss_ratio": 0.05})),
    _fault("upstream takes 60 ms", forwarder(qps=200, seconds=20, seed=63, forward={"loss_ratio": 0.015},
           resolver={"delay_us": 60_000})),
    _fault("upstream on another node", forwarder(qps=250, seconds=20, seed=64, forward={"loss_ratio": 0.01},
           resolver={"captured": False})),
    _fault("a dnsmasq that leaves asking again to its clients", nodelocal(qps=200, seconds=25, seed=65,
           forward={"transport": "udp", "force_tcp": False}, kubedns={"delay_us": 2_000},
           dnsmasq={"forward": Forward(loss_ratio=0.01)})),
    _fault("bursts that overflow the socket", forwarder(qps=150, volleys=(4.0, 400), seconds=20, seed=66,
           server=_BURSTS)),
    _fault("behind the capture, where the upstream seems to have them", forwarder(qps=300, seconds=20, seed=74,
           resolver={"loss_ratio": 0.015})),
    _fault("behind the capture, until the load ends", forwarder(qps=100, bursts=((6, 22, 300), (28, 5, 0.1)),
           seconds=30, seed=73, resolver={"loss_ratio": 0.015}),
           note="what was dropped is all that is left to wait for: the upstream is not silent"),
    Scenario("udp_loss/healthy: no loss", None, partial(run, forwarder(qps=300, seconds=15, seed=67))),
    Scenario(
        "udp_loss/near miss: out of connections",
        "dns/dnsmasq_connection_exhaustion",
        partial(run, nodelocal(qps=250, bursts=((5, 20, 750),), seconds=16, seed=68)),
        note="clients see answers after 2 s and failures after 5 s just the same",
    ),
    Scenario(
        "udp_loss/near miss: an upstream that takes 1.9 s now and then",
        "dns/slow_upstream",
        partial(run, forwarder(qps=200, seconds=20, seed=69, resolver={"tail_ratio": 0.08, "tail_us": 1_800_000})),
    ),
    Scenario(
        "udp_loss/near miss: a limit of the resolver",
        "dns/upstream_rate_limited",
        partial(run, forwarder(qps=600, bursts=((3, 4, 1500),), seconds=22, seed=70,
                node_facts={"kube.server_version": "v1.31.2-eks-7f9249a"},
                resolver={"address": "169.254.169.253:53", "answers_per_s": 1024.0, "captured": False})),
    ),
)  # fmt: skip
