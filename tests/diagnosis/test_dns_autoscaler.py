"""The kube-dns-autoscaler's arithmetic (cluster-proportional-autoscaler, linear mode) in what is recommended."""

from __future__ import annotations

import json
import math

import pytest

from jitterscope.diagnosis.areas.dns.fixes import replicas as dns_replicas
from jitterscope.diagnosis.programs import cluster_autoscaler as dns_autoscaler
from tests.diagnosis.dns_fix_cases import EXHAUSTED, KUBE_DNS, LINEAR, case, text


def size(nodes: int, cores: int, replicas: int) -> dict[str, str]:
    return {"kube.cluster_size": json.dumps({"nodes": nodes, "cores": cores, "kube_dns_replicas": replicas})}


@pytest.mark.parametrize(
    ("parameters", "nodes", "cores", "replicas"),
    [
        ((256, 16, True), 17, 272, 2),  # GKE's default in the cluster of case 4
        ((24, 16, True), 17, 272, 12),  # what its author set: "12 kube-dns Pods in a 17 node cluster"
        ((256, 16, True), 33, 528, 3),
        ((256, 16, True), 1, 4, 1),
        ((256, 16, True), 2, 8, 2),
        ((None, 16, False), 33, 528, 3),
        ((2, 1, False), 4, 13, 7),
    ],
)
def test_replicas_of_linear_mode(
    parameters: tuple[int | None, int | None, bool], nodes: int, cores: int, replicas: int
) -> None:
    linear = dns_autoscaler.Linear(parameters[0], parameters[1], 1, None, parameters[2])
    assert linear.replicas(nodes, cores) == replicas


def test_the_parameter_is_the_largest_that_gives_the_replicas() -> None:
    for cores in (7, 64, 272, 1000):
        for replicas in range(2, 40):
            found = dns_autoscaler.parameter_for(replicas, cores)
            fitting = [n for n in range(1, cores + 1) if math.ceil(cores / n) >= replicas]
            assert found == (max(fitting) if fitting else None)


@pytest.mark.parametrize("spelled", [LINEAR, LINEAR.replace('"{', "{").replace('}"', "}").replace("\\", "")])
def test_the_numbers_of_this_cluster(spelled: str) -> None:
    node = {"kube.dns_autoscaler": spelled} | size(17, 272, 2)
    fix = case(EXHAUSTED, {}, KUBE_DNS, node)["more_replicas"]
    replicas = int(fix.title.split(": ")[1].split(" ")[0])
    assert 7 <= replicas <= 12
    changed = json.loads(json.loads(text(fix).split("-p '")[1].rstrip("'"))["data"]["linear"])
    linear = dns_autoscaler.Linear(changed["coresPerReplica"], changed["nodesPerReplica"], 1, None, True)
    assert linear.replicas(17, 272) >= replicas
    assert dns_autoscaler.Linear(changed["coresPerReplica"] + 1, 16, 1, None, True).replicas(17, 272) <= replicas
    assert '\\"coresPerReplica\\":256' in fix.undo
    assert "cluster-proportional-autoscaler" in " ".join(fix.references)


def test_it_says_when_it_gets_silly() -> None:
    node = {"kube.dns_autoscaler": LINEAR} | size(5, 20, 2)
    fix = case(EXHAUSTED, {}, KUBE_DNS, node)["more_replicas"]
    assert "on 5 nodes, more than one per node, which is unreasonable" in fix.summary
    roomy = {"kube.dns_autoscaler": LINEAR} | size(400, 6400, 25)
    assert "silly" not in case(EXHAUSTED, {}, KUBE_DNS, roomy)["more_replicas"].summary


def test_without_the_cluster_it_is_a_factor() -> None:
    fix = case(EXHAUSTED, {}, KUBE_DNS)["more_replicas"]
    assert "times as many" in fix.title
    assert "scale deployment/kube-dns --replicas=$((" in text(fix)


def test_garbage_facts_of_the_cluster_break_nothing() -> None:
    for value in ("", "x", "[]", "{}", '{"linear": 5}', '{"linear": "{"}', '{"ladder": {"nodesToReplicas": [[1, 2]]}}'):
        node = {"kube.dns_autoscaler": value, "kube.cluster_size": value, "kube.server_version": value}
        assert "more_replicas" in case(EXHAUSTED, {}, KUBE_DNS, node)


@pytest.mark.parametrize(("wanted", "replicas"), [(41.0, 1), (41.0, 2), (120.0, 12), (25.0, 3)])
def test_needed_replicas_suffice(wanted: float, replicas: int) -> None:
    """Of a Poisson load spread at random over them, each stays within its 20 connections 99.8 % of the time."""
    import numpy as np

    count = dns_replicas.needed(20.0, wanted, replicas)
    shares = np.random.default_rng(3).poisson(wanted * replicas / count, 200_000)
    assert (shares <= 16).mean() >= 0.998, "with a quarter to spare"
    fewer = np.random.default_rng(3).poisson(wanted * replicas / max(replicas, count - 2), 200_000)
    assert (fewer <= 16).mean() < (shares <= 16).mean()
