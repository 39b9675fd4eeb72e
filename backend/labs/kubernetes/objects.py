"""What the cluster's faults share: objects, images of the labs' programs, and where their pods run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labs import built
from labs.coredns import executable
from labs.errors import LabError
from labs.kubernetes import images
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import DNS_SERVICE

Object = dict[str, Any]
COREDNS, LOAD = "jitterscope-lab/coredns:1.12.0", "jitterscope-lab/load:1"
# The namespaces of the cluster's DNS and of the labs' clients.
SYSTEM, CLIENTS = "kube-system", "shop"
_PATIENCE = "--timeout=120s"


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment, or another `kind`, with what it needs, applied in this order. `labels` are those of its pods."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    objects: Sequence[Object] = field(default_factory=tuple)
    kind: str = "deployment"

    @property
    def selector(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.labels.items())


@contextmanager
def running(cluster: Cluster, workloads: Sequence[Workload]) -> Iterator[None]:
    """Start each once those before it are ready; all are deleted afterwards."""
    try:
        for one in workloads:
            cluster.apply(*one.objects)
            cluster.kubectl("-n", one.namespace, "rollout", "status", f"{one.kind}/{one.name}", _PATIENCE)
        yield
    finally:
        for made in reversed([made for one in workloads for made in one.objects]):
            name, space = made["metadata"]["name"], made["metadata"].get("namespace", "default")
            cluster.kubectl("-n", space, "delete", made["kind"], name, "--ignore-not-found", "--wait=false")


def pods_of(cluster: Cluster, one: Workload) -> list[Object]:
    """Its pods that are not terminating."""
    found = cluster.get("-n", one.namespace, "pods", "-l", one.selector)["items"]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def must_run(cluster: Cluster, one: Workload) -> bool:
    """Whether all its pods run. Raises LabError if one has failed."""
    for pod in pods_of(cluster, one):
        for status in pod["status"].get("containerStatuses", []):
            if status["restartCount"]:
                raise LabError(f"{pod['metadata']['name']} failed: {status['lastState']}")
            if "running" not in status["state"]:
                return False
    return True


def load_coredns(cluster: Cluster) -> None:
    """Load CoreDNS's image onto the node."""
    cluster.load(images.Image(COREDNS, {"/coredns": executable()}, entrypoint=["/coredns"]))


def load_driver(cluster: Cluster) -> None:
    """Load the load driver's image onto the node."""
    driver = built.program("jitterscope-load", "JITTERSCOPE_LOAD")
    cluster.load(images.Image(LOAD, {"/jitterscope-load": driver}, entrypoint=["/jitterscope-load"]))


def made(version: str, kind: str, name: str, namespace: str, **content: object) -> Object:
    """An object in a namespace."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **content}


def namespace(name: str) -> Object:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def deployment(name: str, space: str, labels: Mapping[str, str], pod: Object, replicas: int = 1) -> Object:
    """A Deployment whose pods end at once when told to."""
    template = {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 2, **pod}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return made("apps/v1", "Deployment", name, space, spec=spec)


def daemon_set(name: str, space: str, labels: Mapping[str, str], pod: Object) -> Object:
    """A DaemonSet."""
    template = {"metadata": {"labels": labels}, "spec": pod}
    return made("apps/v1", "DaemonSet", name, space, spec={"selector": {"matchLabels": labels}, "template": template})


def coredns(
    name: str,
    corefile: str,
    address: str,
    *,
    limits: Mapping[str, str] | None = None,
    hosts: str | None = None,
    account: str | None = None,
    replicas: int = 1,
) -> Workload:
    """A CoreDNS in kube-system with a Service, with the usual name of a cluster's DNS if `name` is "coredns".

    `hosts`: a folder of the node at /hosts. `account`: its service account, for the plugin `kubernetes`.
    """
    service, labels = ("kube-dns", "kube-dns") if name == "coredns" else (name, name)
    container: Object = {
        "name": "coredns",
        "image": COREDNS,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "env": [{"name": "GOMAXPROCS", "value": "2"}],
        "resources": {"limits": dict(limits or {}), "requests": {"cpu": "100m", "memory": "70Mi"}},
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8080}, "periodSeconds": 2},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    pod: Object = {
        "dnsPolicy": "Default",
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": name}}],
    }
    if hosts is not None:
        container["volumeMounts"].append({"name": "hosts", "mountPath": "/hosts", "readOnly": True})
        pod["volumes"].append({"name": "hosts", "hostPath": {"path": hosts, "type": "Directory"}})
    if account is not None:
        pod["serviceAccountName"] = account
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}]
    selector = {"k8s-app": labels}
    return Workload(
        name,
        SYSTEM,
        selector,
        (
            made("v1", "ConfigMap", name, SYSTEM, data={"Corefile": corefile}),
            deployment(name, SYSTEM, selector, pod, replicas),
            made("v1", "Service", service, SYSTEM, spec={"clusterIP": address, "selector": selector, "ports": ports}),
        ),
    )


def driver(name: str, *arguments: str, server: str = DNS_SERVICE) -> Workload:
    """The load driver, which queries the cluster's DNS or another `server`, in a namespace of clients."""
    container = {
        "name": "load",
        "image": LOAD,
        "imagePullPolicy": "Never",
        "args": [f"--server={server}:53", *arguments, "--out=/out/load.bin"],
        "volumeMounts": [{"name": "out", "mountPath": "/out"}],
    }
    labels = {"app": name}
    pod: Object = {"containers": [container], "volumes": [{"name": "out", "emptyDir": {}}]}
    return Workload(name, CLIENTS, labels, (namespace(CLIENTS), deployment(name, CLIENTS, labels, pod)))


def config(name: str, space: str, files: Mapping[str, object]) -> Object:
    """A ConfigMap of JSON files."""
    return made("v1", "ConfigMap", name, space, data={file: json.dumps(told) for file, told in files.items()})


def programs(*more: Path) -> list[Path]:
    """The folders that this machine's programs need, and further ones, none twice or inside another."""
    wanted = dict.fromkeys([Path("/usr"), Path("/lib"), Path("/lib64"), *more])
    return [one for one in wanted if one.exists() and wanted.keys().isdisjoint(one.parents)]


def shown(*folders: Path) -> tuple[list[Object], list[Object]]:
    """(volumes, mounts) that show folders of this machine at the same paths."""
    names = [f"machine-{number}" for number in range(len(folders))]
    pairs = list(zip(names, map(str, folders), strict=True))
    return (
        [{"name": name, "hostPath": {"path": path, "type": "Directory"}} for name, path in pairs],
        [{"name": name, "mountPath": path, "readOnly": True} for name, path in pairs],
    )
