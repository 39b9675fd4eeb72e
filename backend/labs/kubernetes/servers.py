"""TimescaleDB and Valkey beside the chart, as the ones that an operator provides for production."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from labs.kubernetes import backend, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.objects import Object, Workload

NAMESPACE = "databases"
_DATABASE, _QUEUE = "timescaledb", "valkey"


@dataclass(frozen=True, slots=True)
class Servers:
    """Where they are, as pods of every namespace reach them, and the passwords of `postgres` and of Valkey."""

    host: str
    password: str
    valkey_host: str
    valkey_password: str


@contextmanager
def running(cluster: Cluster) -> Iterator[Servers]:
    """Start both, and delete them with their data afterwards. Raises LabError if one does not become ready."""
    made = Servers(f"{_DATABASE}.{NAMESPACE}", "of-postgres", f"{_QUEUE}.{NAMESPACE}", "of-valkey")
    try:
        with objects.running(cluster, (_database(made.password), _queue(made.valkey_password))):
            yield made
    finally:
        # Until its pods have ended, so that the next ones can have the same names.
        cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")


def _database(password: str) -> Workload:
    [image, _] = backend.servers()
    ready = ["pg_isready", "--host", "127.0.0.1", "--username", "postgres"]
    container: Object = {
        "image": image.name,
        "env": [{"name": "POSTGRES_PASSWORD", "value": password}],
        "readinessProbe": {"exec": {"command": ready}, "periodSeconds": 2, "timeoutSeconds": 5},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - of the container
    }
    volumes = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "256Mi"}}]
    return _server(_DATABASE, 5432, container, volumes)


def _queue(password: str) -> Workload:
    [_, image] = backend.servers()
    container: Object = {
        "image": image.name,
        "command": ["valkey-server", "--requirepass", password, "--maxmemory-policy", "noeviction", "--save", ""],
        "readinessProbe": {"tcpSocket": {"port": 6379}, "periodSeconds": 2},
    }
    return _server(_QUEUE, 6379, container, [])


def _server(name: str, port: int, container: Object, volumes: list[Object]) -> Workload:
    labels = {"app": name}
    pod: Object = {"containers": [{"name": name, "imagePullPolicy": "Never", **container}], "volumes": volumes}
    ports = [{"port": port}]
    return Workload(
        name,
        NAMESPACE,
        labels,
        (
            objects.namespace(NAMESPACE),
            objects.deployment(name, NAMESPACE, labels, pod),
            objects.made("v1", "Service", name, NAMESPACE, spec={"selector": labels, "ports": ports}),
        ),
    )
