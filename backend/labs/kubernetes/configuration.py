"""How each program of the node is started, and its configuration files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labs.kubernetes.building import Programs
from labs.kubernetes.layout import (
    API,
    API_SERVICE,
    CGROUP,
    DNS_SERVICE,
    NODE,
    NODE_ADDRESS,
    POD_NETWORK,
    SANDBOX_IMAGE,
    SEARCH_DOMAINS,
    SERVICE_NETWORK,
    Files,
)
from labs.kubernetes.pki import USERS, Authority

_ETCD, _ETCD_PEERS = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
_API_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
# The kubelet sets these for the whole machine where they have another value.
WANTED_SYSCTLS = {
    "vm/overcommit_memory": "1",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    words: list[str]


def write(files: Files, programs: Programs) -> None:
    """All certificates and configuration files, into an empty folder."""
    files.logs.mkdir(parents=True)
    authority = Authority(files.pki)
    for user, (name, group) in USERS.items():
        authority.issue(user, name, group)
    authority.issue("kubelet", f"system:node:{NODE}", "system:nodes", [NODE_ADDRESS, NODE])
    authority.issue("apiserver", "kube-apiserver", "", [NODE_ADDRESS, "127.0.0.1", API_SERVICE, *_API_NAMES])
    for user in (*USERS, "kubelet"):
        authority.kubeconfig(user, API)
    (files.folder / "cni").mkdir()
    write_pod_network(files)
    plugins(files).mkdir()
    for one in (programs.debian / "usr/lib/cni").iterdir():
        (plugins(files) / one.name).symlink_to(one)
    (files.folder / "containerd.toml").write_text(_containerd(files, programs))
    _write(files.folder / "kubelet.json", _kubelet(files))
    _write(files.folder / "proxy.json", _proxy(files))
    (files.folder / "resolv.conf").write_text(f"search {' '.join(SEARCH_DOMAINS)}\n")
    _write(files.audit_policy, AUDIT_POLICY)


def plugins(files: Files) -> Path:
    """The folder of CNI plugins."""
    return files.folder / "cni-plugins"


def write_pod_network(files: Files, *more: Mapping[str, object]) -> None:
    """The chain of CNI plugins, with further ones at its end. containerd follows the file."""
    network = _pod_network()
    network["plugins"] = [*network["plugins"], *more]
    place = files.folder / "cni" / "10-bridge.conflist"
    _write(place.with_suffix(".new"), network)
    place.with_suffix(".new").replace(place)


def storage(files: Files, programs: Programs) -> list[Command]:
    """What starts first."""
    return [
        Command(
            "etcd",
            [
                programs["etcd"], "--name=lab", f"--data-dir={files.folder / 'etcd'}", "--unsafe-no-fsync",
                "--log-level=warn",
                f"--listen-client-urls={_ETCD}", f"--advertise-client-urls={_ETCD}",
                f"--listen-peer-urls={_ETCD_PEERS}", f"--initial-advertise-peer-urls={_ETCD_PEERS}",
                f"--initial-cluster=lab={_ETCD_PEERS}",
            ],
        ),
        # Where nodes have their kubelet's log.
        Command("systemd-journald", [JOURNALD]),
        Command("containerd", [f"{programs.debian}/usr/bin/containerd", f"--config={files.folder}/containerd.toml"]),
        Command("kube-apiserver", [programs["kube-apiserver"], *_options(_api_server(files))]),
    ]  # fmt: skip


JOURNALD = "/lib/systemd/systemd-journald"
# It must do nothing to this machine: no audit, no kernel messages, no terminals.
JOURNALD_SETTINGS = "[Journal]\nStorage=volatile\nAudit=no\nReadKMsg=no\nForwardToWall=no\n"


def control(files: Files, programs: Programs) -> list[Command]:
    """What starts once the API server is ready: before it has made its roles, the controller manager ends at once."""
    return [
        Command("kube-controller-manager", [programs["kube-controller-manager"], *_options(_controllers(files.pki))]),
        Command("kube-scheduler", [programs["kube-scheduler"], *_options(_as(files.pki, "scheduler"))]),
        Command(
            "kubelet",
            [
                "systemd-cat", programs["kubelet"],
                f"--config={files.folder}/kubelet.json", f"--kubeconfig={files.pki}/kubelet.conf",
                f"--hostname-override={NODE}", f"--node-ip={NODE_ADDRESS}", "--root-dir=/var/lib/kubelet",
            ],
        ),
        Command("kube-proxy", [programs["kube-proxy"], f"--config={files.folder / 'proxy.json'}"]),
    ]  # fmt: skip


def _options(given: Mapping[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in given.items()]


# Who asked for what, and whether it was allowed; what the kubelet asks on behalf of those who ask it.
AUDIT_POLICY: dict[str, object] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "RequestResponse",
            "resources": [{"group": "authorization.k8s.io", "resources": ["subjectaccessreviews"]}],
        },
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "None"},
    ],
}


def _api_server(files: Files) -> dict[str, str]:
    pki = files.pki
    return {
        "etcd-servers": _ETCD,
        "service-cluster-ip-range": SERVICE_NETWORK,
        "advertise-address": NODE_ADDRESS,
        "tls-cert-file": f"{pki}/apiserver.crt",
        "tls-private-key-file": f"{pki}/apiserver.key",
        "client-ca-file": f"{pki}/ca.crt",
        "kubelet-client-certificate": f"{pki}/apiserver-to-kubelet.crt",
        "kubelet-client-key": f"{pki}/apiserver-to-kubelet.key",
        "kubelet-certificate-authority": f"{pki}/ca.crt",
        "kubelet-preferred-address-types": "InternalIP",
        "service-account-key-file": f"{pki}/accounts.pub",
        "service-account-signing-key-file": f"{pki}/accounts.key",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "audit-policy-file": str(files.audit_policy),
        "audit-log-path": str(files.audit_log),
    }


def _as(pki: Path, user: str) -> dict[str, str]:
    config = f"{pki}/{user}.conf"
    return {
        "kubeconfig": config,
        "authentication-kubeconfig": config,
        "authorization-kubeconfig": config,
        "leader-elect": "false",
    }


def _controllers(pki: Path) -> dict[str, str]:
    return {
        **_as(pki, "controller-manager"),
        "service-account-private-key-file": f"{pki}/accounts.key",
        "root-ca-file": f"{pki}/ca.crt",
        "cluster-signing-cert-file": f"{pki}/ca.crt",
        "cluster-signing-key-file": f"{pki}/ca.key",
        "use-service-account-credentials": "true",
    }


def _pod_network() -> dict[str, Any]:
    ranges = [[{"subnet": POD_NETWORK}]]
    addresses = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [{**bridge, "ipam": addresses}, ports]}


def _containerd(files: Files, programs: Programs) -> str:
    root = programs.debian
    # restrict_oom_score_adj: a root without CAP_SYS_RESOURCE may give nothing an oom_score_adj below its own.
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
    bin_dir = "{plugins(files)}"
    conf_dir = "{files.folder / "cni"}"
"""


def _kubelet(files: Files) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}",
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
        "tlsCertFile": f"{files.pki}/kubelet.crt",
        "tlsPrivateKeyFile": f"{files.pki}/kubelet.key",
        # A machine that others fill must not have its pods evicted.
        "evictionHard": {
            "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "nodeStatusUpdateFrequency": "4s",
        "syncFrequency": "10s",
        # Else a container that was killed several times waits up to 5 min for its next start.
        "featureGates": {"KubeletCrashLoopBackOffMax": True},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
    }  # fmt: skip


def _proxy(files: Files) -> dict[str, object]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": POD_NETWORK,
        "hostnameOverride": NODE,
        "clientConnection": {"kubeconfig": f"{files.pki}/proxy.conf"},
        # Else it sets nf_conntrack_max, which is the machine's.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def _write(file: Path, told: Mapping[str, object] | Sequence[object]) -> None:
    """As JSON, which is YAML too."""
    file.write_text(json.dumps(told, indent=1))
