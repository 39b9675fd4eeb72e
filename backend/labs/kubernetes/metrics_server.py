"""The metrics server, from which autoscalers know how much CPU pods use: the cluster can do without.

With rights, APIService, and options as in its manifests.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labs.console import Say
from labs.kubernetes import building, images, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.objects import SYSTEM, Object, Workload

_NAME, _API = "metrics-server", "v1beta1.metrics.k8s.io"
_IMAGE = "jitterscope-lab/metrics-server:1"
_RBAC = "rbac.authorization.k8s.io"
_PORT = 10250
_LABELS = {"k8s-app": _NAME}
_AUTHORITY = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"


@contextmanager
def running(cluster: Cluster, say: Say) -> Iterator[None]:
    """The API server serves metrics.k8s.io until the context ends."""
    program = building.added(_NAME, say)
    cluster.load(images.Image(_IMAGE, {f"/{_NAME}": program}, entrypoint=[f"/{_NAME}"]))
    with objects.running(cluster, (_workload(),)):
        cluster.kubectl("wait", "--for=condition=Available", f"apiservice/{_API}", "--timeout=60s")
        yield


def _workload() -> Workload:
    container: Object = {
        "name": _NAME,
        "image": _IMAGE,
        "imagePullPolicy": "Never",
        "args": [
            "--cert-dir=/tmp", f"--secure-port={_PORT}",
            "--kubelet-preferred-address-types=InternalIP", f"--kubelet-certificate-authority={_AUTHORITY}",
            "--metric-resolution=10s", "--kubelet-request-timeout=5s",  # the shortest, which takes a shorter timeout
        ],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": _PORT, "scheme": "HTTPS"}, "periodSeconds": 2},
        "securityContext": {"readOnlyRootFilesystem": True, "runAsNonRoot": True, "runAsUser": 1000},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - of the container
    }  # fmt: skip
    pod: Object = {
        "serviceAccountName": _NAME,
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    service = {"selector": _LABELS, "ports": [{"port": 443, "targetPort": _PORT}]}
    served = {
        "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
        "insecureSkipTLSVerify": True, "service": {"name": _NAME, "namespace": SYSTEM},
    }  # fmt: skip
    made = (
        *_rights(),
        objects.made("v1", "Service", _NAME, SYSTEM, spec=service),
        objects.deployment(_NAME, SYSTEM, _LABELS, pod),
        _cluster_wide("apiregistration.k8s.io/v1", "APIService", _API, spec=served),
    )
    return Workload(_NAME, SYSTEM, _LABELS, made)


def _cluster_wide(version: str, kind: str, name: str, **content: object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **content}


def _rights() -> list[Object]:
    listed = {"verbs": ["get", "list", "watch"], "apiGroups": [""]}
    rules = [
        {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes/metrics"]},
        {**listed, "resources": ["pods", "nodes"]},
    ]
    subject = {"kind": "ServiceAccount", "name": _NAME, "namespace": SYSTEM}

    def to(kind: str, role: str) -> dict[str, object]:
        return {"roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role}, "subjects": [subject]}

    version, own, delegates = f"{_RBAC}/v1", f"system:{_NAME}", "system:auth-delegator"
    reads = to("Role", "extension-apiserver-authentication-reader")
    return [
        objects.made("v1", "ServiceAccount", _NAME, SYSTEM),
        _cluster_wide(version, "ClusterRole", own, rules=rules),
        _cluster_wide(version, "ClusterRoleBinding", own, **to("ClusterRole", own)),
        _cluster_wide(version, "ClusterRoleBinding", f"{_NAME}:{delegates}", **to("ClusterRole", delegates)),
        objects.made(version, "RoleBinding", f"{_NAME}-auth-reader", SYSTEM, **reads),
    ]
