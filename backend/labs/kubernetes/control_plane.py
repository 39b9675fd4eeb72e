"""How the programs of the control plane are started, on the first node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labs.kubernetes.building import Programs
from labs.kubernetes.layout import NODE_ADDRESS, SERVICE_NETWORK, Files

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
