"""The second disk of a node: our programs and images, its configuration, and its static pods."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from jitterscope.settings import REPOSITORY
from labs import built
from labs.coredns import WIDE_NAMES, executable, write_hosts
from labs.errors import LabError
from labs.kubernetes.building import Programs
from labs.kubernetes.images import Image
from labs.kubernetes.layout import SANDBOX_IMAGE
from labs.kubernetes.pki import Authority
from labs.vm.disks import LAB, NODE

# Of qemu's network: the machine, and this one, whose loopback it is.
ADDRESS, HOST_ADDRESS = "10.0.2.15", "10.0.2.2"
_BUSYBOX = "jitterscope-lab/busybox:1"
_RECORDS = 1_000
_COREFILE = """.:53 {
    errors
    health
    hosts /dns/hosts {
        reload 0
    }
}
"""
# Far more than its limit, all at once.
_GROWS = "busybox sleep 10; busybox dd if=/dev/zero of=/dev/null bs=512M count=1"
_WRITES = "while busybox dd if=/dev/zero of=/data bs=64k count=1 conv=fsync; do busybox sleep 1; done"
_KUBELET_UNIT = f"""[Unit]
Description=kubelet
After=containerd.service
[Service]
ExecStart={LAB}/bin/kubelet --config={LAB}/kubelet.json --hostname-override={NODE} --node-ip={ADDRESS}
"""
_COLLECTOR_CONFIG = f"""server = "http://{HOST_ADDRESS}:{{port}}"
spool_dir = "/var/lib/jitterscope-collector"
metrics_listen = "127.0.0.1:9464"
cpu_budget = 0  # emulation takes ten times as much
"""


class Parameters(BaseModel):
    """The static pods' limits, and the load.

    `excess`: how much more CPU the queries cost than the limit allows.
    """

    model_config = ConfigDict(extra="forbid")

    cpu_limit_m: int = Field(500, ge=20, le=1000)
    burst_us: int = Field(25_000, ge=0)
    memory_limit_mib: int = Field(48, ge=16, le=512)
    excess: float = Field(2.0, gt=1, le=10)
    seconds: int = Field(25, ge=10, le=300)


class StaticPod(BaseModel):
    """A static pod with one container, by the names that the kubelet gives it."""

    namespace: str
    pod: str
    container: str

    @property
    def name(self) -> str:
        """As the product names the container."""
        return f"{self.namespace}/{self.pod}/{self.container}"


# Throttled, killed for memory again and again, and calm.
DNS = StaticPod(namespace="kube-system", pod=f"coredns-{NODE}", container="coredns")
CACHE = StaticPod(namespace="shop", pod=f"cache-{NODE}", container="cache")
WEB = StaticPod(namespace="shop", pod=f"web-{NODE}", container="web")
PODS = (DNS, CACHE, WEB)


def write(folder: Path, programs: Programs, parameters: Parameters, port: int, token: str) -> None:
    """Write all of it. `port`: the product's, on this machine's loopback. Raises LabError."""
    for name in ("bin", "images", "units", "collector", "manifests", "dns"):
        (folder / name).mkdir(parents=True)
    shutil.copyfile(Path(__file__).with_name("node.sh"), folder / "node.sh")
    settings = {
        "CPU_US_PER_S": parameters.cpu_limit_m * 1000,
        "BURST_US": parameters.burst_us,
        "EXCESS_PERCENT": round(100 * parameters.excess),
        "SECONDS_BUSY": parameters.seconds,
        "NAMES": ",".join(WIDE_NAMES),
    }
    (folder / "settings").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    busybox = shutil.which("busybox")
    if busybox is None:
        raise LabError("Install this first: apt-get install busybox-static")
    collector = built.program("jitterscope-collector", "JITTERSCOPE_COLLECTOR")
    load = built.program("jitterscope-load", "JITTERSCOPE_LOAD")
    for source in (Path(programs["kubelet"]), Path(busybox), collector, load):
        shutil.copy(source, folder / "bin" / source.name)
    _write_images(folder / "images", Path(programs["pause"]), Path(busybox))
    shutil.copy(executable(), folder / "dns" / "coredns")
    write_hosts(folder / "dns" / "hosts", _RECORDS)
    (folder / "dns" / "Corefile").write_text(_COREFILE)
    shutil.copy(REPOSITORY / "collector" / "systemd" / "jitterscope-collector.service", folder / "units")
    (folder / "units" / "kubelet.service").write_text(_KUBELET_UNIT)
    (folder / "collector" / "collector.toml").write_text(_COLLECTOR_CONFIG.format(port=port))
    (folder / "collector" / "token").write_text(token)
    Authority(folder / "pki").issue("kubelet", NODE, places=[ADDRESS, NODE])
    _write(folder / "kubelet.json", _kubelet())
    for pod, manifest in zip(PODS, _manifests(parameters), strict=True):
        _write(folder / "manifests" / f"{pod.container}.json", manifest)


def _write_images(folder: Path, pause: Path, busybox: Path) -> None:
    for name, image in {
        "pause": Image(SANDBOX_IMAGE, {"/pause": pause}, entrypoint=["/pause"], user="65535:65535"),
        "busybox": Image(f"docker.io/{_BUSYBOX}", {"/bin/busybox": busybox}, entrypoint=["/bin/busybox"]),
    }.items():
        image.write(folder / f"{name}.tar")


def _kubelet() -> dict[str, object]:
    """Without an API server: everybody on the machine may read."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "systemd",
        "staticPodPath": f"{LAB}/manifests",
        "address": "127.0.0.1",
        "readOnlyPort": 10255,
        "tlsCertFile": f"{LAB}/pki/kubelet.crt",
        "tlsPrivateKeyFile": f"{LAB}/pki/kubelet.key",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        # Otherwise the second start after a kill waits 10 s, the third 20 s, and so on.
        "featureGates": {"KubeletCrashLoopBackOffMax": True},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
    }


def _manifests(parameters: Parameters) -> Sequence[Mapping[str, object]]:
    limit = f"{parameters.cpu_limit_m}m"
    # It requests what it may use: with less, the collector, ten times as expensive in emulation, is what starves it.
    cpu = {"limits": {"cpu": limit, "memory": "256Mi"}, "requests": {"cpu": limit, "memory": "64Mi"}}
    memory = {"limits": {"memory": f"{parameters.memory_limit_mib}Mi"}}
    mount = {"name": "dns", "mountPath": "/dns", "readOnly": True}
    volume = {"name": "dns", "hostPath": {"path": f"{LAB}/dns", "type": "Directory"}}
    # Its program is on the disk: unpacking an image of 60 MiB takes long on an emulated CPU.
    command = ["/dns/coredns", "-conf", "/dns/Corefile"]
    dns = {"image": _BUSYBOX, "command": command, "resources": cpu, "volumeMounts": [mount]}
    shell = {"image": _BUSYBOX, "command": ["/bin/busybox", "sh", "-c"]}
    return (
        _pod(DNS, dns, volume),
        _pod(CACHE, {**shell, "args": [_GROWS], "resources": memory}),
        _pod(WEB, {**shell, "args": [_WRITES]}),
    )


def _pod(pod: StaticPod, container: Mapping[str, Any], *volumes: Mapping[str, object]) -> dict[str, object]:
    """On the node's network, as most static pods are: the machine needs no CNI plugins."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod.pod.removesuffix(f"-{NODE}"), "namespace": pod.namespace},
        "spec": {
            "hostNetwork": True,
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": pod.container, "imagePullPolicy": "Never", **container}],
            "volumes": list(volumes),
        },
    }


def _write(file: Path, told: Mapping[str, object]) -> None:
    file.write_text(json.dumps(told, indent=1))
