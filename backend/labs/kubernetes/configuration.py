"""How each program of a node is started, and its configuration files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labs.kubernetes.building import Programs
from labs.kubernetes.control_plane import AUDIT_POLICY, FRONT_PROXY, Command
from labs.kubernetes.layout import (
    API,
    API_SERVICE,
    DNS_SERVICE,
    NODE_ADDRESS,
    POD_NETWORK,
    SANDBOX_IMAGE,
    SEARCH_DOMAINS,
    Files,
    Node,
    NodeFiles,
)
from labs.kubernetes.pki import USERS, Authority

KUBELET, CONTAINERD = "kubelet", "containerd"
_API_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
# The kubelet sets these machine-wide if they have other values.
WANTED_SYSCTLS = {
    "vm/overcommit_memory": "1",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


def write(files: Files, nodes: Sequence[Node], programs: Programs) -> None:
    """Write all certificates and configuration files into an empty folder."""
    files.folder.mkdir(parents=True)
    authority = Authority(files.pki)
    for user, (name, group) in USERS.items():
        authority.issue(user, name, group)
    authority.issue("apiserver", "kube-apiserver", "", [NODE_ADDRESS, "127.0.0.1", API_SERVICE, *_API_NAMES])
    authority.issue("front-proxy", FRONT_PROXY)
    for user in USERS:
        authority.kubeconfig(user, API)
    (files.folder / "resolv.conf").write_text(f"search {' '.join(SEARCH_DOMAINS)}\n")
    _write(files.audit_policy, AUDIT_POLICY)
    for node in nodes:
        user = _kubelet_user(node)
        authority.issue(user, f"system:node:{node.name}", "system:nodes", [node.address, node.name])
        authority.kubeconfig(user, API)
        _write_node(files, node, programs)


def _write_node(files: Files, node: Node, programs: Programs) -> None:
    own = files.of(node)
    for folder in (own.folder, own.logs, own.pod_network.parent, own.plugins):
        folder.mkdir()
    write_pod_network(files, node)
    for one in (programs.debian / "usr/lib/cni").iterdir():
        (own.plugins / one.name).symlink_to(one)
    (own.folder / "containerd.toml").write_text(_containerd(own, programs))
    _write(own.folder / "kubelet.json", _kubelet(files, node))
    _write(own.folder / "proxy.json", _proxy(files, node))


def write_pod_network(files: Files, node: Node, *more: Mapping[str, object]) -> None:
    """Write the chain of CNI plugins, with further ones at its end. containerd watches the file."""
    network = _pod_network(node)
    network["plugins"] = [*network["plugins"], *more]
    place = files.of(node).pod_network
    _write(place.with_suffix(".new"), network)
    place.with_suffix(".new").replace(place)


JOURNALD = "/lib/systemd/systemd-journald"
# It must not affect this machine: no audit, no kernel messages, no terminals.
JOURNALD_SETTINGS = "[Journal]\nStorage=volatile\nAudit=no\nReadKMsg=no\nForwardToWall=no\n"


def runtime(files: NodeFiles, programs: Programs) -> list[Command]:
    """What a node starts first: the journal, where nodes keep their kubelet's log, and the container runtime."""
    return [
        Command("systemd-journald", [JOURNALD]),
        Command(CONTAINERD, [f"{programs.debian}/usr/bin/containerd", f"--config={files.folder}/containerd.toml"]),
    ]


def agents(files: Files, node: Node, programs: Programs) -> list[Command]:
    """What a node starts once the API server is ready."""
    own = files.of(node).folder
    return [
        Command(
            KUBELET,
            [
                "systemd-cat", programs["kubelet"],
                f"--config={own}/kubelet.json", f"--kubeconfig={files.pki}/{_kubelet_user(node)}.conf",
                f"--hostname-override={node.name}", f"--node-ip={node.address}", "--root-dir=/var/lib/kubelet",
            ],
        ),
        Command("kube-proxy", [programs["kube-proxy"], f"--config={own / 'proxy.json'}"]),
    ]  # fmt: skip


def _kubelet_user(node: Node) -> str:
    return f"kubelet-{node.name}"


def _pod_network(node: Node) -> dict[str, Any]:
    ranges = [[{"subnet": node.pod_network}]]
    addresses = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [{**bridge, "ipam": addresses}, ports]}


def _containerd(files: NodeFiles, programs: Programs) -> str:
    root = programs.debian
    # restrict_oom_score_adj: a root user without CAP_SYS_RESOURCE cannot set an oom_score_adj below its own.
    return f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{SANDBOX_IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "{root / "usr/sbin/runc"}"
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{files.plugins}"
    conf_dir = "{files.pod_network.parent}"
"""


def _kubelet(files: Files, node: Node) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "failSwapOn": False,
        "failCgroupV1": False,
        "address": "0.0.0.0",  # noqa: S104 - in the node's own network namespace
        "clusterDNS": [DNS_SERVICE],
        "clusterDomain": "cluster.local",
        "resolvConf": str(files.folder / "resolv.conf"),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{files.pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{files.pki}/{_kubelet_user(node)}.crt",
        "tlsPrivateKeyFile": f"{files.pki}/{_kubelet_user(node)}.key",
        # A machine filled by others must not have its pods evicted.
        "evictionHard": {
            "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "nodeStatusUpdateFrequency": "4s",
        "syncFrequency": "10s",
        # Otherwise a container that was killed several times waits up to 5 min for its next start.
        "featureGates": {"KubeletCrashLoopBackOffMax": True},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
    }  # fmt: skip


def _proxy(files: Files, node: Node) -> dict[str, object]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": POD_NETWORK,
        "hostnameOverride": node.name,
        "clientConnection": {"kubeconfig": f"{files.pki}/proxy.conf"},
        # Otherwise it sets nf_conntrack_max, which is machine-wide.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def _write(file: Path, told: Mapping[str, object] | Sequence[object]) -> None:
    """Write as JSON, which is also YAML."""
    file.write_text(json.dumps(told, indent=1))
