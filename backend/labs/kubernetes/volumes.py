"""Volumes for claims: the cluster has no provisioner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from labs.kubernetes.cluster import Cluster


@contextmanager
def for_claims(cluster: Cluster, namespace: str, claims: Mapping[str, str]) -> Iterator[None]:
    """A folder of this machine for each claim (name → size). Volumes and folders are deleted afterwards."""
    names = {claim: f"{namespace}-{claim}" for claim in claims}
    try:
        for claim, size in claims.items():
            folder = cluster.files.folder / "volumes" / names[claim]
            folder.mkdir(parents=True)
            folder.chmod(0o777)  # fsGroup does not change folders of the node
            cluster.apply(
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolume",
                    "metadata": {"name": names[claim]},
                    "spec": {
                        "capacity": {"storage": size},
                        "accessModes": ["ReadWriteOnce"],
                        "hostPath": {"path": str(folder)},
                        "claimRef": {"namespace": namespace, "name": claim},
                    },
                }
            )
        yield
    finally:
        for name in names.values():
            cluster.kubectl("delete", "persistentvolume", name, "--ignore-not-found", "--wait=false")
            cluster.on_node("rm", "-rf", str(cluster.files.folder / "volumes" / name))
