"""Addresses, names, and files of the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labs import packages

# Ranges that clusters and home networks rarely use.
HOST_ADDRESS, LINK_BITS = "10.111.0.1", 24
POD_NETWORK, SERVICE_NETWORK = "10.112.0.0/16", "10.113.0.0/24"
API_SERVICE, DNS_SERVICE = "10.113.0.1", "10.113.0.10"
# Of the resolver of names outside the cluster, if a case has one.
UPSTREAM_SERVICE = "10.113.0.53"
# As in the resolv.conf of a GKE node; the kubelet appends them to those of pods.
SEARCH_DOMAINS = ("europe-west1-b.c.shop-prod-4711.internal", "c.shop-prod-4711.internal", "google.internal")
# The bridge between this machine and the nodes.
HOST_LINK = "jitterscope-k8s"
# Everything in the cluster runs below this cgroup.
CGROUP = "jitterscope-cluster"
SANDBOX_IMAGE = "registry.k8s.io/pause:3.10"
MOST_NODES = 8


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """`number` starts at 1. The first node also has the control plane."""

    number: int

    @property
    def name(self) -> str:
        return f"node{self.number}"

    @property
    def address(self) -> str:
        return f"10.111.0.{1 + self.number}"

    @property
    def pod_network(self) -> str:
        return f"10.112.{self.number - 1}.0/24"

    @property
    def host_link(self) -> str:
        """The bridge port that leads to it."""
        return f"js-k8s-{self.name}"

    @property
    def cgroup(self) -> str:
        """Its pods are in `kubepods` below this cgroup."""
        return f"{CGROUP}/{self.name}"

    @property
    def system(self) -> str:
        """The cgroup of its own programs."""
        return f"{self.cgroup}/system"


FIRST = Node(1)
NODE, NODE_ADDRESS = FIRST.name, FIRST.address
API = f"https://{NODE_ADDRESS}:6443"


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """What a node writes. `lock` is held while it runs and contains its PID."""

    folder: Path
    lock: Path

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def ready(self) -> Path:
        """Exists once every program of the node was started."""
        return self.folder / "started"

    @property
    def failure(self) -> Path:
        """Why the node ended, if it was not told to."""
        return self.folder / "failure"

    @property
    def restart(self) -> Path:
        """The program that the node ends and starts again at SIGHUP; it removes the file then."""
        return self.folder / "restart"

    @property
    def plugins(self) -> Path:
        """The folder of CNI plugins."""
        return self.folder / "cni-plugins"

    @property
    def pod_network(self) -> Path:
        """The chain of CNI plugins."""
        return self.folder / "cni" / "10-bridge.conflist"


@dataclass(frozen=True, slots=True)
class Files:
    """What the cluster writes: all of `folder`, which is removed with it, and the locks of its nodes in `locks`."""

    folder: Path
    locks: Path

    @classmethod
    def of_this_user(cls) -> Files:
        cache = packages.cache("kubernetes")
        return cls(cache / "cluster", cache)

    def of(self, node: Node) -> NodeFiles:
        """The files of a node."""
        return NodeFiles(self.folder / node.name, self.locks / f"cluster-{node.name}.lock")

    def nodes(self) -> list[Node]:
        """The nodes that the cluster was made with."""
        return [node for node in map(Node, range(1, MOST_NODES + 1)) if self.of(node).folder.exists()]

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def admin(self) -> Path:
        """The administrator's kubeconfig."""
        return self.pki / "admin.conf"

    @property
    def audit_policy(self) -> Path:
        return self.folder / "audit.json"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log: one JSON object per line."""
        return self.of(FIRST).logs / "audit.log"
