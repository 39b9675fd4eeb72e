"""The metrics server, with its own manifests: autoscalers read the pods' CPU from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from labs.console import Say
from labs.kubernetes import building, extensions, images
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.objects import SYSTEM

_NAME = "metrics-server"
_PROGRAM = f"/{_NAME}"
_API = "apiservice/v1beta1.metrics.k8s.io"
# The kubelets' certificates are the cluster's, and not of an authority that the whole world trusts.
_TRUSTS = "--kubelet-certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
_PATIENCE = "--timeout=120s"


@contextmanager
def serving(cluster: Cluster, say: Say) -> Iterator[None]:
    """The API of pod metrics until the context ends."""
    program = building.added(_NAME, say)
    manifests = str(extensions.module(f"sigs.k8s.io/{_NAME}@{building.version_of(_NAME)}") / "manifests" / "base")
    try:
        cluster.kubectl("apply", "-k", manifests)
        [container] = cluster.get("-n", SYSTEM, "deployment", _NAME)["spec"]["template"]["spec"]["containers"]
        cluster.load(images.Image(container["image"], {_PROGRAM: program}, entrypoint=[_PROGRAM]))
        more = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": _TRUSTS}]
        cluster.kubectl("-n", SYSTEM, "patch", "deployment", _NAME, "--type=json", "-p", json.dumps(more))
        cluster.kubectl("-n", SYSTEM, "rollout", "status", f"deployment/{_NAME}", _PATIENCE)
        cluster.kubectl("wait", "--for=condition=Available", _API, _PATIENCE)
        yield
    finally:
        cluster.kubectl("delete", "-k", manifests, "--ignore-not-found", "--wait=false")
