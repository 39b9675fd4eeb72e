"""How the programs of the control plane are started, on the first node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labs.kubernetes.building import Programs
from labs.kubernetes.layout import NODE_ADDRESS, SERVICE_NETWORK, Files

# As whom the API server sends requests on to servers that serve a part of its API, such as metrics.k8s.io.
FRONT_PROXY = "front-proxy-client"
_ETCD, _ETCD_PEERS = "http://127.0.0.1:2379", "http://127.0.0.1:2380"


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    words: list[str]


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
        Command("kube-apiserver", [programs["kube-apiserver"], *_options(_api_server(files))]),
    ]  # fmt: skip


def control(files: Files, programs: Programs) -> list[Command]:
    """What starts once the API server is ready: before it has its roles, the controller manager exits immediately."""
    return [
        Command("kube-controller-manager", [programs["kube-controller-manager"], *_options(_controllers(files.pki))]),
        Command("kube-scheduler", [programs["kube-scheduler"], *_options(_as(files.pki, "scheduler"))]),
    ]


def _options(given: Mapping[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in given.items()]


# Who requested what, and whether it was allowed; also the kubelet's requests on behalf of its clients.
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
        "proxy-client-cert-file": f"{pki}/front-proxy.crt",
        "proxy-client-key-file": f"{pki}/front-proxy.key",
        "requestheader-client-ca-file": f"{pki}/ca.crt",
        # The authority is that of all clients: only this one may say who asked.
        "requestheader-allowed-names": FRONT_PROXY,
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
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
        # By default a pod's CPU is not counted in its first 5 min where it was not ready in the last seconds, and pods
        # are kept for 5 min after the load has ended.
        "horizontal-pod-autoscaler-cpu-initialization-period": "10s",
        "horizontal-pod-autoscaler-initial-readiness-delay": "5s",
        "horizontal-pod-autoscaler-downscale-stabilization": "60s",
        "horizontal-pod-autoscaler-sync-period": "5s",
    }
