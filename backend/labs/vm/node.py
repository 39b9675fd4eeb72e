"""A node with cgroup v2 in qemu: systemd, containerd, and a kubelet with static pods; a product here watches it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from labs.console import Say
from labs.errors import LabError
from labs.hosting import product_for_others
from labs.kubernetes import building
from labs.product import Product
from labs.vm import disks, machine, node_files
from labs.vm.cgroup_v2 import parts_of
from labs.vm.node_files import Parameters

_PATIENCE_S, _DATA_PATIENCE_S = 900.0, 240.0
_MEMORY_MIB = 2048
# Debian's initrd waits for a disk to resume from otherwise.
_OPTIONS = "root=/dev/vda rw rootfstype=ext4 net.ifnames=0 noresume fsck.mode=skip"


@dataclass(frozen=True, slots=True)
class Counted:
    """What the kernel said at the end, while all pods were frozen.

    `files`: path of a cgroup → file → its lines. `containers`: ID → "NAMESPACE/POD/CONTAINER", of running ones, as the
    kubelet lists them. `qps`: the load; `answers`: what its driver measured. `until_us`: when it was read.
    """

    kernel: str
    systemd: str
    files: Mapping[str, Mapping[str, Sequence[str]]]
    containers: Mapping[str, str]
    qps: int
    answers: Mapping[str, float]
    until_us: int

    def cgroup_of(self, name: str) -> str:
        """The cgroup of a running container. Raises LabError if there is none."""
        ids = [container for container, told in self.containers.items() if told == name]
        found = [path for path in self.files if any(path.endswith(f"-{container}.scope") for container in ids)]
        if len(found) != 1:
            raise LabError(f"{name} has {len(found)} cgroups: {self.containers}, {list(self.files)}")
        return found[0]


@dataclass(frozen=True, slots=True)
class Watched:
    """A product that has all data of a machine that still runs. `since_us`: before the machine started."""

    product: Product
    counted: Counted
    since_us: int


@contextmanager
def watched(folder: Path, parameters: Parameters, say: Say) -> Iterator[Watched]:
    """Boot, make the faults, and wait until the product has the data. Raises LabError."""
    if os.geteuid() != 0:
        raise LabError("The lab needs root: debootstrap makes the machine's disk.")
    if missing := machine.missing_tools():
        raise LabError(f"Install these first: apt-get install {' '.join(missing)}")
    programs = building.ready(say)
    debian = disks.installed()
    with product_for_others(say, {}) as (product, token):
        port = urlsplit(product.url).port
        if port is None:
            raise LabError(f"{product.url} has no port.")
        lab = folder / "lab"
        node_files.write(lab, programs, parameters, port, token)
        disk = folder / "lab.ext4"
        disks.made_of(lab, disk, disks.mib_of(lab))
        shutil.rmtree(lab)
        since_us = time.time_ns() // 1000
        say(f"Booting {debian.kernel.name.removeprefix('vmlinuz-')} with systemd and containerd in qemu")
        devices = (
            # What it writes to Debian's disk is gone with it.
            "-drive", f"file={debian.disk},format=raw,if=virtio,snapshot=on",
            "-drive", f"file={disk},format=raw,if=virtio,readonly=on",
            "-netdev", "user,id=net0,ipv6=off", "-device", "virtio-net-pci,netdev=net0,romfile=",
        )  # fmt: skip
        with machine.running(
            folder, debian.kernel, debian.initrd, _OPTIONS, *devices, memory_mib=_MEMORY_MIB
        ) as running:
            counted = _counted(_output(running))
            say(f"{counted.qps} queries/s, p50 {counted.answers['p50_us'] / 1e3:.0f} ms; comparing what was counted")
            _wait_for_data(product, counted)
            yield Watched(product, counted, since_us)


def _output(running: machine.Machine) -> Mapping[str, Sequence[str]]:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        parts = parts_of(running.output.read_text(errors="replace")) if running.output.exists() else {}
        if "end" in parts:
            return parts
        ended = running.process.poll() is not None
        if ended or "failed" in parts or time.monotonic() > deadline:
            what = "ended" if ended else "failed" if "failed" in parts else f"took longer than {_PATIENCE_S:.0f} s"
            raise LabError(f"The machine {what}:\n{machine.tail(running.console)}")
        time.sleep(0.5)


def _counted(parts: Mapping[str, Sequence[str]]) -> Counted:
    files: dict[str, dict[str, list[str]]] = {}
    for line in parts["cgroups"]:
        path, _, text = line.partition(":")
        cgroup, _, name = path.rpartition("/")
        files.setdefault(f"/{cgroup}", {}).setdefault(name, []).append(text)
    containers: dict[str, str] = {}
    for pod in json.loads("\n".join(parts["pods"]))["items"]:
        about = pod["metadata"]
        for status in pod["status"].get("containerStatuses", []):
            if "running" in status["state"]:
                container = status["containerID"].rpartition("://")[2]
                containers[container] = f"{about['namespace']}/{about['name']}/{status['name']}"
    return Counted(
        kernel=parts["release"][0],
        systemd=parts["systemd"][0].split()[1],
        files=files,
        containers=containers,
        qps=int(parts["load"][0]),
        answers=json.loads(parts["load"][1]),
        until_us=int(parts["until"][0]) * 1_000_000,
    )


def _wait_for_data(product: Product, counted: Counted) -> None:
    """Wait for a tick after the counters were read: those before it have come."""
    key = counted.cgroup_of(node_files.DNS.name)
    own = product.wait_for("CoreDNS's cgroup", lambda: product.cgroup_id(key), _DATA_PATIENCE_S)

    def later() -> bool:
        return bool(product.values(own, "cpu_usage_us", counted.until_us, counted.until_us + 60_000_000))

    product.wait_for("data from after the comparison", later, _DATA_PATIENCE_S)
