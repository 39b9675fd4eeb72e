"""The cluster's programs: built once from the Go module proxy, or unpacked from Debian packages.

What is built is pinned by the go.mod and go.sum of its folder in `programs/`. A cold build takes 11 min of CPU time.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs import packages
from labs.console import Say
from labs.errors import LabError

KUBERNETES, HELM, PAUSE = "v1.34.3", "v3.19.5", "3.10"
_SOURCES = Path(__file__).with_name("programs")
# One binary that acts by the name it is called with: together the programs are a fifth of the size.
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl")
# What few tests need, by program: version and package.
_ADDED = {
    "kube-router": ("v2.1.0", "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"),
    "metrics-server": ("v0.8.0", "sigs.k8s.io/metrics-server/cmd/metrics-server"),
}
_DEBIAN = ("containernetworking-plugins", "runc", "iptables", "nftables")
_IPTABLES = tuple(f"{family}{verb}" for family in ("iptables", "ip6tables") for verb in ("", "-save", "-restore"))


@dataclass(frozen=True, slots=True)
class Programs:
    """`folder` has the built programs, `debian` the unpacked packages."""

    folder: Path
    debian: Path

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def libraries(self) -> str:
        """LD_LIBRARY_PATH for the programs of Debian's packages."""
        return packages.environment(self.debian)["LD_LIBRARY_PATH"]

    @property
    def environment(self) -> dict[str, str]:
        """PATH and libraries for every program of the node."""
        own = [self.folder, self.debian / "usr/sbin", self.debian / "usr/bin", self.debian / "usr/local/sbin"]
        path = ":".join([*map(str, own), "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
        modules = next(self.debian.glob("usr/lib/*-linux-*/xtables"), self.debian)
        return {"PATH": path, "LD_LIBRARY_PATH": self.libraries, "XTABLES_LIBDIR": str(modules)}


def are_built() -> bool:
    """Whether the long build has been done on this machine: then `ready` takes seconds."""
    folder = packages.cache("kubernetes") / "bin"
    return all((folder / name).exists() for name in (_versioned("hyperkube", KUBERNETES), _versioned("helm", HELM)))


def ready(say: Say) -> Programs:
    """All programs, built or downloaded if missing. Raises LabError if that fails."""
    folder = packages.cache("kubernetes") / "bin"
    folder.mkdir(exist_ok=True)
    with _alone(folder.with_name("building")):
        _go_build(folder, "hyperkube", KUBERNETES, ".", _kubernetes_flags(), say)
        _go_build(folder, "helm", HELM, "helm.sh/helm/v3/cmd/helm", _helm_flags(), say)
        for name in NAMES:
            _link(folder / name, _versioned("hyperkube", KUBERNETES))
        _link(folder / "helm", _versioned("helm", HELM))
        _pause(folder)
    debian = packages.unpacked("containerd", *_DEBIAN)
    for name in _IPTABLES:
        _link(debian / "usr/sbin" / name, "xtables-nft-multi")
    return Programs(folder, debian)


def added(name: str, say: Say) -> Path:
    """A program that the cluster can do without, built if missing. Raises LabError if that fails."""
    version, package = _ADDED[name]
    folder = packages.cache("kubernetes") / "bin"
    with _alone(folder.with_name("building")):
        _go_build(folder, name, version, package, "", say)
    return folder / _versioned(name, version)


def _versioned(name: str, version: str) -> str:
    return f"{name}-{version}"


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Concurrent labs must not build twice."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _link(name: Path, target: str) -> None:
    if not (name.is_symlink() and str(name.readlink()) == target):
        name.unlink(missing_ok=True)
        name.symlink_to(target)


def _kubernetes_flags() -> str:
    """Without these, the API server claims to be v0.0.0, and no chart accepts it."""
    major, minor = KUBERNETES.removeprefix("v").split(".")[:2]
    told = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    where = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {package}.{name}={value}" for package in where for name, value in told.items())


def _helm_flags() -> str:
    """Without the last ones, `helm template` and `helm lint` assume Kubernetes 1.20."""
    helm, (major, minor) = "helm.sh/helm/v3", KUBERNETES.removeprefix("v").split(".")[:2]
    versions = [f"-X {helm}/internal/version.version={HELM}"]
    for package in ("pkg/chartutil", "pkg/lint/rules"):
        versions += [f"-X {helm}/{package}.k8sVersionMajor={major}", f"-X {helm}/{package}.k8sVersionMinor={minor}"]
    return " ".join(versions)


def _go_build(folder: Path, name: str, version: str, package: str, flags: str, say: Say) -> None:
    built = folder / _versioned(name, version)
    if built.exists():
        return
    say(f"Building {name} {version} (once; minutes)")
    building = built.with_name(f".building-{name}")
    command = ["go", "build", "-trimpath", "-ldflags", f"-s -w {flags}", "-o", str(building), package]
    packages.run(command, _SOURCES / name, {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false"})
    building.replace(built)


def _pause(folder: Path) -> None:
    """The program of a pod's sandbox, built from Kubernetes' source."""
    built = folder / _versioned("pause", PAUSE)
    if not built.exists():
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise LabError("A C compiler is missing for Kubernetes' pause: run `make deps`.")
        where = ["go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"]
        source = packages.run(where, _SOURCES / "hyperkube", {"GOFLAGS": "-mod=mod"}).strip()
        building = built.with_name(".building-pause")
        options = ["-Os", "-static", "-s", f"-DVERSION=v{PAUSE}"]
        packages.run([compiler, *options, "-o", str(building), f"{source}/build/pause/linux/pause.c"])
        building.replace(built)
    _link(folder / "pause", built.name)
