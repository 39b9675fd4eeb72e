"""Fixes of the DNS scenarios with other facts, for the tests of recommendations."""

from __future__ import annotations

from dataclasses import replace

from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Fix
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot
from tests.diagnosis.scenarios import built

EXHAUSTED = "dnsmasq_connection_exhaustion/case 4"
SLOW = "slow_upstream/takes 1.5 s"
HELD = "connection_pool_churn/a volley of 28"
LOST = "udp_loss/one in a hundred"
DROPPED = "udp_loss/bursts that overflow the socket"
KUBE_DNS = {
    "workload.manager": "kubernetes", "workload.namespace": "kube-system", "workload.pod": "kube-dns-6fb7c8866c-bxj7f",
    "workload.container": "dnsmasq", "workload.owner": "ReplicaSet/kube-dns-6fb7c8866c",
}  # fmt: skip
LINEAR = '{"linear":"{\\"coresPerReplica\\":256,\\"nodesPerReplica\\":16,\\"preventSinglePointFailure\\":true}"}'


def told(view: ResourceView, facts: dict[str, str]) -> ResourceView:
    kept = tuple(fact for fact in view.facts if fact.name not in facts)
    return replace(view, facts=kept + tuple(FactValue(name, value, 0) for name, value in facts.items()))


def case(
    name: str,
    server: dict[str, str] | None = None,
    subject: dict[str, str] | None = None,
    node: dict[str, str] | None = None,
    front: dict[str, str] | None = None,
) -> dict[str, Fix]:
    """Fixes of the finding with other facts of the server, its cgroup, its node, and the server in front."""
    whole = built(name)
    neighbours = whole.neighbours
    if front is not None:
        neighbours = (told(neighbours[0], front), *neighbours[1:])
    snapshot: Snapshot = replace(
        whole,
        subject=told(whole.subject, subject or {}),
        node=told(whole.node, node or {}),
        dns_servers=(told(whole.dns_servers[0], server or {}), *whole.dns_servers[1:]),
        neighbours=neighbours,
    )
    found = diagnose(snapshot).findings
    assert len(found) == 1
    return {fix.id: fix for fix in found[0].fixes}


def text(fix: Fix) -> str:
    return "\n".join(patch.text for patch in fix.patches)
