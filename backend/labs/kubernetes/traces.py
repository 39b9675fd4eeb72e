"""What a release leaves: cluster objects and, on the node, processes, containers, mounts, cgroups, and files."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from labs.kubernetes import tree
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import CGROUP, FIRST

# Kinds that record what happens, not what exists.
_PASSING = ("events", "componentstatuses", "leases")
# Paths as the node sees them, where the kubelet and the runtime keep pod data and where a collector keeps its own.
_FOLDERS = (
    "/var/lib/kubelet/pods",
    "/var/log/pods",
    "/var/log/containers",
    "/var/lib/cni/networks/pods",
    "/run/netns",
    "/var/lib",
)
_LASTS_S = 1.0


def objects(cluster: Cluster) -> set[str]:
    """Every object in the cluster, as KIND NAMESPACE/NAME."""
    kinds = [
        kind
        for kind in cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        if kind.split(".")[0] not in _PASSING
    ]
    found = cluster.get(",".join(kinds), "-A")["items"]
    return {
        f"{one['kind']} {one['metadata'].get('namespace', '')}/{one['metadata']['name']}".replace(" /", " ")
        for one in found
    }


def node(cluster: Cluster) -> set[str]:
    """What exists on the node except images; only processes that last at least a second."""
    pid = cluster.pid(FIRST)
    before = _processes()
    mounts = {line.split()[4] for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()}
    root = Path(f"/proc/{pid}/root")
    found = {f"mount {place}" for place in mounts}
    found |= {
        f"cgroup {folder.relative_to(top)} in {top}"
        for top in tree.roots()
        for folder in (top / CGROUP).rglob("*")
        if folder.is_dir()
    }
    found |= {f"link {line.split(': ')[1]}" for line in cluster.on_node("ip", "-o", "link").splitlines()}
    listed = cluster.on_node(f"{cluster.programs.debian}/usr/bin/ctr", "-n", "k8s.io", "containers", "ls", "-q")
    found |= {f"container {name}" for name in listed.split()}
    for folder in _FOLDERS:
        there = root / folder.lstrip("/")
        found |= {f"file {folder}/{one.name}" for one in there.iterdir()} if there.is_dir() else set()
    time.sleep(_LASTS_S)
    return found | (before & _processes())


def settled(now: Callable[[], set[str]], before: set[str], expected: set[str], patience_s: float) -> set[str]:
    """What exists in addition to before, once it is at most what is expected, or after the timeout."""
    deadline = time.monotonic() + patience_s
    while True:
        more = now() - before
        if more <= expected or time.monotonic() > deadline:
            return more
        time.sleep(1)


def _processes() -> set[str]:
    """Processes of the cluster: its pods, and the programs that run them."""
    found: set[str] = set()
    for top in tree.roots():
        for procs in (top / CGROUP).rglob("cgroup.procs"):
            try:
                found |= {f"process {pid} {_name(pid)}" for pid in procs.read_text().split()}
            except OSError:  # the cgroup is gone
                continue
    return found


def _name(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"
