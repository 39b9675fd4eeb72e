"""Addresses, names, and files of the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labs import packages

NODE = "node1"
# Ranges that clusters and home networks rarely use.
HOST_ADDRESS, NODE_ADDRESS, LINK_BITS = "10.111.0.1", "10.111.0.2", 24
POD_NETWORK, SERVICE_NETWORK = "10.112.0.0/24", "10.113.0.0/24"
API_SERVICE, DNS_SERVICE = "10.113.0.1", "10.113.0.10"
# Of the resolver of names outside the cluster, where a case has one.
UPSTREAM_SERVICE = "10.113.0.53"
# As a node on GKE has them in its resolv.conf; the kubelet appends them to those of pods.
SEARCH_DOMAINS = ("europe-west1-b.c.shop-prod-4711.internal", "c.shop-prod-4711.internal", "google.internal")
API = f"https://{NODE_ADDRESS}:6443"
HOST_LINK = "jitterscope-k8s"
# Everything of the cluster runs below this cgroup: its own programs in SYSTEM, pods in kubepods.
CGROUP = "jitterscope-cluster"
SYSTEM = f"{CGROUP}/system"
SANDBOX_IMAGE = "registry.k8s.io/pause:3.10"


@dataclass(frozen=True, slots=True)
class Files:
    """What the cluster writes. All of `folder` is removed with it; `lock` is held while it runs and has its PID."""

    folder: Path
    lock: Path

    @classmethod
    def of_this_user(cls) -> Files:
        cache = packages.cache("kubernetes")
        return cls(cache / "cluster", cache / "cluster.lock")

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def admin(self) -> Path:
        """The administrator's kubeconfig."""
        return self.pki / "admin.conf"

    @property
    def audit_policy(self) -> Path:
        return self.folder / "audit.json"

    @property
    def audit_log(self) -> Path:
        """The API server's: a JSON object in each line."""
        return self.logs / "audit.log"

    @property
    def ready(self) -> Path:
        """There once every program of the node was started."""
        return self.folder / "started"

    @property
    def failure(self) -> Path:
        """Why the node ended, where it was not told to."""
        return self.folder / "failure"
