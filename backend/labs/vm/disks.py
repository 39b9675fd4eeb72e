"""Disks of a virtual machine: Debian with its own kernel, systemd, and containerd, and folders of this machine."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from jitterscope.devstack import debian
from labs import packages
from labs.errors import LabError
from labs.kubernetes.layout import SANDBOX_IMAGE

NODE = "node1"
# Where the second disk is mounted.
LAB = "/lab"
_SUITE = "trixie"
_PACKAGES = ("systemd", "systemd-sysv", "dbus", "linux-image-cloud-amd64", "containerd", "runc", "iproute2")
_MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service",
    "fstrim.timer", "serial-getty@ttyS0.service",
)  # fmt: skip
_UNITS = Path("etc/systemd/system")
_FILES = {
    "etc/hostname": f"{NODE}\n",
    "etc/hosts": f"127.0.0.1 localhost {NODE}\n",
    "etc/resolv.conf": "",
    "etc/machine-id": "6a697474657273636f70652d766d2d32\n",
    "etc/fstab": "",
    "etc/containerd/config.toml": f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{SANDBOX_IMAGE}"
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
""",
    str(_UNITS / "lab.service"): f"""[Unit]
Description=What the second disk brings
Wants=containerd.service
After=containerd.service
[Service]
ExecStartPre=/bin/mount -t ext4 -o ro /dev/vdb {LAB}
ExecStart=/bin/sh {LAB}/node.sh
""",
}
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Debian:
    """An installed Debian: its kernel with the initrd, as files of this machine, and a disk with the whole system."""

    kernel: Path
    initrd: Path
    disk: Path


def installed() -> Debian:
    """Debian in the cache, installed at first use (a minute of CPU). Raises LabError if that is not possible."""
    try:
        root = debian.system(f"vm-{_SUITE}", _SUITE, _PACKAGES)
    except debian.DebianUnavailable as error:
        raise LabError(str(error)) from error
    told = repr((_PACKAGES, _MASKED, _FILES))
    disk = packages.cache("vm") / f"{_SUITE}-{hashlib.sha256(told.encode()).hexdigest()[:12]}.ext4"
    with (disk.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not disk.exists():
            _configure(root)
            partial = disk.with_suffix(".partial")
            made_of(root, partial, 2048)
            partial.replace(disk)
    kernels = sorted((root / "boot").glob("vmlinuz-*"))
    if not kernels:
        raise LabError(f"{root} has no kernel: remove it, so that it is installed again.")
    release = kernels[-1].name.removeprefix("vmlinuz-")
    return Debian(kernels[-1], root / "boot" / f"initrd.img-{release}", disk)


def made_of(folder: Path, disk: Path, mib: int) -> None:
    """Write an ext4 file system with the content of a folder, all of it root's. No mount is needed."""
    if shutil.which("mke2fs", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin") is None:
        raise LabError("mke2fs is missing: apt-get install e2fsprogs")
    disk.unlink(missing_ok=True)
    environment = {"PATH": f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"}
    packages.run(["mke2fs", "-q", "-t", "ext4", "-d", str(folder), str(disk), f"{mib}M"], environment=environment)


def mib_of(folder: Path) -> int:
    """The size of a disk for a folder: what its files take, and room for the file system's own data."""
    used = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file() and not one.is_symlink())
    return round(1.1 * used / _MIB) + 64


def _configure(root: Path) -> None:
    (root / LAB.lstrip("/")).mkdir(exist_ok=True)
    for name, text in _FILES.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.write_text(text)
    wanted = root / _UNITS / "multi-user.target.wants" / "lab.service"
    wanted.parent.mkdir(parents=True, exist_ok=True)
    _link(wanted, f"/{_UNITS}/lab.service")
    for name in _MASKED:
        _link(root / _UNITS / name, "/dev/null")


def _link(place: Path, target: str) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to(target)
