"""kube-router's firewall on each node, which enforces NetworkPolicies: the CNI plugins of the cluster don't.

It neither routes nor proxies here, which is what the flaws known of this version are in. kube-network-policies needs
nftables' `queue` (CONFIG_NFT_QUEUE), which the kernel here lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labs import packages
from labs.console import Say
from labs.kubernetes import building, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import SANDBOX_IMAGE, SERVICE_NETWORK
from labs.kubernetes.objects import SYSTEM, Object

_NAME = "kube-router"
_RBAC = "rbac.authorization.k8s.io"
_HEALTH_PORT = 20244
_LABELS = {"k8s-app": _NAME}
# Its pods must not run any more when their rules are removed.
_GONE = ("--ignore-not-found", "--cascade=foreground", "--timeout=60s")
# It leaves its rules and sets in the kernel.
_CLEAN = """
iptables-save -t filter | grep -v -e KUBE-ROUTER- -e KUBE-POD-FW- -e KUBE-NWPLCY- | iptables-restore
ipset list -n | grep '^KUBE-' | while read -r name; do ipset destroy "$name"; done
"""


@contextmanager
def enforced(cluster: Cluster, say: Say) -> Iterator[None]:
    """The nodes enforce the cluster's NetworkPolicies until the context ends."""
    program, tools = building.added(_NAME, say), packages.unpacked("ipset")
    made = [*_rights(), _daemon_set(cluster, program, tools)]
    try:
        cluster.apply(*made)
        cluster.kubectl("-n", SYSTEM, "rollout", "status", f"daemonset/{_NAME}", "--timeout=120s")
        yield
    finally:
        for one in reversed(made):
            cluster.kubectl("-n", SYSTEM, "delete", one["kind"], _NAME, *_GONE)
        for node in cluster.nodes:
            cluster.on_node("env", *_environment(cluster, tools), "sh", "-euc", _CLEAN, node=node)


def _rights() -> list[Object]:
    """As its manifest gives them."""
    listed = {
        "": ["namespaces", "pods", "services", "nodes", "endpoints"],
        "networking.k8s.io": ["networkpolicies"],
        "discovery.k8s.io": ["endpointslices"],
    }
    verbs = ["get", "list", "watch"]
    rules = [{"apiGroups": [group], "resources": names, "verbs": verbs} for group, names in listed.items()]
    of_all = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": _NAME}
    subject = {"kind": "ServiceAccount", "name": _NAME, "namespace": SYSTEM}
    cluster_wide = {"apiVersion": f"{_RBAC}/v1", "metadata": {"name": _NAME}}
    return [
        objects.made("v1", "ServiceAccount", _NAME, SYSTEM),
        {**cluster_wide, "kind": "ClusterRole", "rules": rules},
        {**cluster_wide, "kind": "ClusterRoleBinding", "roleRef": of_all, "subjects": [subject]},
    ]


def _environment(cluster: Cluster, tools: Path) -> list[str]:
    """NAME=VALUE of what finds the programs of the node and `ipset`."""
    added = {"PATH": f":{tools / 'usr/sbin'}", "LD_LIBRARY_PATH": f":{packages.environment(tools)['LD_LIBRARY_PATH']}"}
    return [f"{name}={value}{added.get(name, '')}" for name, value in cluster.programs.environment.items()]


def _daemon_set(cluster: Cluster, program: Path, tools: Path) -> Object:
    """It runs this machine's files in the node's network namespace, with the same iptables as kube-proxy."""
    volumes, mounts = objects.shown(*objects.programs(program.parent, cluster.programs.debian, tools))
    variables = [one.partition("=") for one in _environment(cluster, tools)]
    container = {
        "name": _NAME,
        "image": SANDBOX_IMAGE,
        "imagePullPolicy": "Never",
        "command": [
            str(program), "--run-firewall=true", "--run-router=false", "--run-service-proxy=false",
            f"--service-cluster-ip-range={SERVICE_NETWORK}",
        ],
        "env": [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            *({"name": name, "value": value} for name, _, value in variables),
        ],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": _HEALTH_PORT}, "periodSeconds": 1},
        "securityContext": {"runAsUser": 0, "capabilities": {"add": ["NET_ADMIN", "NET_RAW"]}},
        "volumeMounts": mounts,
    }  # fmt: skip
    pod: Object = {
        "serviceAccountName": _NAME,
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 2,
        "containers": [container],
        "volumes": volumes,
    }
    return objects.daemon_set(_NAME, SYSTEM, _LABELS, pod)
