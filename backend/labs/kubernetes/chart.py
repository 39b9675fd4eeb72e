"""The product's chart on the cluster: its collectors, which send to a product outside."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from jitterscope.settings import REPOSITORY
from labs import built
from labs.console import Say
from labs.kubernetes import images
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import FIRST, NODE, Node

CHART = REPOSITORY / "helm" / "jitterscope"
RELEASE = NAMESPACE = "jitterscope"
COLLECTOR = f"{RELEASE}-collector"
_IMAGE = "jitterscope-collector:0.1.0"
_END_PATIENCE_S = 30.0
# `collector.spoolFolder` of the chart.
SPOOL = "/var/lib/jitterscope-collector"
# A collector that has just started does not listen yet.
_PAGE = """
import time, urllib.error, urllib.request
for left in reversed(range(40)):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:9464/metrics").read().decode())
        break
    except urllib.error.URLError:
        if not left:
            raise
        time.sleep(0.5)
"""
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def install_collectors(cluster: Cluster, server: str, token: str, say: Say, *, on_all: bool = False) -> None:
    """Install the chart with `helm install`, as docs/deploy.md describes for a cluster without a backend.

    On the first node, or on all nodes. Raises LabError if a collector does not become ready.
    """
    load_collector(cluster)
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}},
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "jitterscope", "namespace": NAMESPACE},
            "stringData": {"JITTERSCOPE_COLLECTOR_TOKEN": token},
        },
    )
    say("Installing the chart")
    values = f"backend.enabled=false,existingSecret=jitterscope,collector.server={server}"
    if not on_all:
        values += f",collector.nodeSelector.kubernetes\\.io/hostname={NODE}"
    cluster.helm(
        "install", RELEASE, str(CHART), "--namespace", NAMESPACE, "--set", values, "--wait", "--timeout", "120s"
    )


def load_collector(cluster: Cluster) -> None:
    """Load the collector's image onto the node."""
    cluster.load(collector_image())


def collector_image() -> images.Image:
    """The collector's image, with the binary that is built here."""
    collector = built.program("jitterscope-collector", "JITTERSCOPE_COLLECTOR")
    of_build = {("build", "/jitterscope-collector"): collector, ("build", _CERTIFICATES): Path(_CERTIFICATES)}
    return images.of_dockerfile(REPOSITORY / "collector" / "Dockerfile", _IMAGE, of_build)


def wait_for_collectors(cluster: Cluster) -> None:
    """Wait until each node runs the collector as it is configured now. Raises LabError if one does not become ready."""
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", f"daemonset/{COLLECTOR}", "--timeout=120s")


def page(cluster: Cluster, node: Node = FIRST) -> str:
    """The metrics page of the collector on a node."""
    return cluster.on_node(sys.executable, "-IS", "-c", _PAGE, node=node)


def uninstall(cluster: Cluster) -> list[str]:
    """Uninstall it; returns what is left in the cluster once its pods had time to end."""
    cluster.helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--wait")
    # Unsent data would otherwise reach the next product, with old timestamps.
    remove_spools(cluster)
    kinds = "all,configmap,serviceaccount,role,rolebinding,clusterrole,clusterrolebinding"
    labelled = ("-l", f"app.kubernetes.io/instance={RELEASE}", "-A")
    deadline = time.monotonic() + _END_PATIENCE_S
    while True:
        left = [f"{one['kind']}/{one['metadata']['name']}" for one in cluster.get(kinds, *labelled)["items"]]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.5)


def remove_spools(cluster: Cluster) -> None:
    """Remove what collectors kept on the nodes."""
    for node in cluster.nodes:
        cluster.on_node("rm", "-rf", SPOOL, node=node)


def memory_limit_mib(cluster: Cluster) -> float:
    """Memory limit of a collector."""
    spec = cluster.get("-n", NAMESPACE, "daemonset", COLLECTOR)["spec"]["template"]["spec"]
    return float(spec["containers"][0]["resources"]["limits"]["memory"].removesuffix("Mi"))
