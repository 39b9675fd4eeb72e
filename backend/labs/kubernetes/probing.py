"""Case 3 on the cluster: a pod that repeatedly starts a program with NSS, which probes with made-up names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from labs import nss, packages
from labs.console import Say
from labs.kubernetes import images, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.fault import Case, Fault, Parameters
from labs.kubernetes.objects import CLIENTS, Object, Workload

_IMAGE, _NAME = "jitterscope-lab/checks:1", "checks"


class Checks(Parameters):
    """As old health checks with curl are."""

    every_s: float = Field(0.5, ge=0.1, le=60, description="seconds from one run of certutil to the next")
    replicas: int = Field(1, ge=1, le=20, description="pods that run it")


@contextmanager
def _checked(cluster: Cluster, p: Checks, say: Say) -> Iterator[Fault]:
    """The pod that lists certificates, with an NSS_SDB_USE_CACHE value that makes NSS probe."""
    folder = cluster.files.folder / "nss"
    folder.mkdir(exist_ok=True)
    listing = nss.certutil(folder, "auto")
    say(f"Deploying a pod that runs `{Path(listing.command[0]).name}` every {p.every_s:g} s")
    cluster.load(images.Image(_IMAGE, {"/certutil": Path(listing.command[0])}))
    checks = _workload(listing, folder, p)
    with objects.running(cluster, (checks,)):
        pod = objects.pods_of(cluster, checks)[0]

        def goes_on() -> bool:
            # The fix replaces the pod itself.
            objects.must_run(cluster, checks)
            return True

        yield Fault(pod["metadata"]["name"], goes_on)


def _workload(listing: nss.Certutil, folder: Path, p: Checks) -> Workload:
    libraries = packages.libraries(listing.environment)
    volumes, mounts = objects.shown(*objects.programs(*libraries))
    words = " ".join(("/certutil", *listing.command[1:]))
    container: Object = {
        "name": _NAME,
        "image": _IMAGE,
        "imagePullPolicy": "Never",
        "command": ["/usr/bin/sh", "-euc", f"while :; do {words} > /dev/null; sleep {p.every_s:g}; done"],
        "env": [{"name": name, "value": value} for name, value in listing.environment.items()],
        "volumeMounts": [
            *mounts,
            {"name": "database", "mountPath": str(folder)},
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108 - of the pod
        ],
    }
    pod: Object = {
        "containers": [container],
        "volumes": [
            *volumes,
            {"name": "database", "hostPath": {"path": str(folder), "type": "Directory"}},
            {"name": "scratch", "emptyDir": {}},
        ],
    }
    labels = {"app": _NAME}
    made = objects.deployment(_NAME, CLIENTS, labels, pod, p.replicas)
    return Workload(_NAME, CLIENTS, labels, (objects.namespace(CLIENTS), made))


CASE = Case(
    name="3",
    title="a pod whose NSS probes the file system with made-up names",
    cause="kernel/nss_stat_storm",
    fix="nss_variable",
    parameters=Checks,
    made=_checked,
)
