"""Case 1 on the cluster: a CoreDNS Deployment with a CPU limit and a large hosts file, and a pod that asks it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from labs import built
from labs.console import Say
from labs.coredns import WIDE_NAMES, executable, write_hosts
from labs.errors import LabError
from labs.kubernetes import images
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import CGROUP, DNS_SERVICE

NAMESPACE, DEPLOYMENT, CONTAINER = "kube-system", "coredns", "coredns"
_COREDNS, _LOAD = "jitterscope-lab/coredns:1.12.0", "jitterscope-lab/load:1"
_RECORDS, _QPS, _SECONDS = 500_000, 1_000, 1_500
_LIMIT = "500m"
_COREFILE = """.:53 {
    errors
    health
    ready
    hosts /hosts/hosts {
        reload 0
    }
}
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server runs: its pod, and the key of its container's cgroup."""

    pod: str
    key: str


@contextmanager
def served(cluster: Cluster, say: Say) -> Iterator[Place]:
    """The server under its load; both are deleted afterwards."""
    say(f"Deploying CoreDNS with {_RECORDS:,} names and a CPU limit of {_LIMIT}")
    hosts = cluster.files.folder / "hosts"
    hosts.mkdir(exist_ok=True)
    write_hosts(hosts / "hosts", _RECORDS)
    cluster.load(images.Image(_COREDNS, {"/coredns": executable()}, entrypoint=["/coredns"]))
    load = built.program("jitterscope-load", "JITTERSCOPE_LOAD")
    cluster.load(images.Image(_LOAD, {"/jitterscope-load": load}, entrypoint=["/jitterscope-load"]))
    objects = [*_server(str(hosts)), *_client()]
    try:
        cluster.apply(*objects[:3])
        cluster.kubectl("-n", NAMESPACE, "rollout", "status", f"deployment/{DEPLOYMENT}", "--timeout=120s")
        cluster.apply(*objects[3:])
        cluster.kubectl("-n", "shop", "rollout", "status", "deployment/dns-load", "--timeout=60s")
        yield _place(cluster)
    finally:
        for one in reversed(objects):
            name, space = one["metadata"]["name"], one["metadata"].get("namespace", "default")
            cluster.kubectl("-n", space, "delete", one["kind"], name, "--ignore-not-found", "--wait=false")


def is_asked(cluster: Cluster) -> bool:
    """Whether the pod that asks runs. Raises LabError where it has failed."""
    [pod] = cluster.get("-n", "shop", "pods", "-l", "app=dns-load")["items"]
    status = pod["status"]["containerStatuses"][0]
    if status["restartCount"]:
        raise LabError(f"The load failed: {status['lastState']}")
    return "running" in status["state"]


def _place(cluster: Cluster) -> Place:
    [pod] = cluster.get("-n", NAMESPACE, "pods", "-l", "k8s-app=kube-dns")["items"]
    _, _, identity = pod["status"]["containerStatuses"][0]["containerID"].partition("://")
    quality = pod["status"]["qosClass"].lower()
    parent = "" if quality == "guaranteed" else f"/{quality}"
    return Place(pod["metadata"]["name"], f"/{CGROUP}/kubepods{parent}/pod{pod['metadata']['uid']}/{identity}")


def _server(hosts: str) -> list[dict[str, Any]]:
    container = {
        "name": CONTAINER,
        "image": _COREDNS,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "env": [{"name": "GOMAXPROCS", "value": "2"}],
        "resources": {"limits": {"cpu": _LIMIT, "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 2},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/coredns", "readOnly": True},
            {"name": "hosts", "mountPath": "/hosts", "readOnly": True},
        ],
    }
    volumes = [
        {"name": "config", "configMap": {"name": DEPLOYMENT}},
        {"name": "hosts", "hostPath": {"path": hosts, "type": "Directory"}},
    ]
    config = _object("v1", "ConfigMap", DEPLOYMENT, NAMESPACE) | {"data": {"Corefile": _COREFILE}}
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}]
    service = _object("v1", "Service", "kube-dns", NAMESPACE) | {
        "spec": {"clusterIP": DNS_SERVICE, "selector": {"k8s-app": "kube-dns"}, "ports": ports}
    }
    pod = {"dnsPolicy": "Default", "containers": [container], "volumes": volumes}
    return [config, _deployment(DEPLOYMENT, NAMESPACE, {"k8s-app": "kube-dns"}, pod), service]


def _client() -> list[dict[str, Any]]:
    arguments = [f"--server={DNS_SERVICE}:53", f"--names={','.join(WIDE_NAMES)}", f"--seconds={_SECONDS}"]
    container = {
        "name": "load",
        "image": _LOAD,
        "imagePullPolicy": "Never",
        "args": [*arguments, f"--qps={_QPS}", "--out=/out/load.bin"],
        "volumeMounts": [{"name": "out", "mountPath": "/out"}],
    }
    pod = {"containers": [container], "volumes": [{"name": "out", "emptyDir": {}}]}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    return [space, _deployment("dns-load", "shop", {"app": "dns-load"}, pod)]


def _object(version: str, kind: str, name: str, namespace: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}


def _deployment(name: str, namespace: str, labels: dict[str, str], pod: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 2, **pod}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return _object("apps/v1", "Deployment", name, namespace) | {"spec": spec}
