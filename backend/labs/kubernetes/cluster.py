"""Starts the cluster, asks it, and removes every trace of it, also of one whose starter was killed."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jitterscope.settings import REPOSITORY
from labs import packages
from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import building, configuration, images, tree
from labs.kubernetes.building import Programs
from labs.kubernetes.layout import HOST_ADDRESS, HOST_LINK, LINK_BITS, NODE, SANDBOX_IMAGE, Files

_READY_PATIENCE_S = 240.0
_END_PATIENCE_S = 30.0
# Children of this process: the kernel keeps their exit codes until they are asked for.
_started: list[subprocess.Popen[bytes]] = []
_APART = ("unshare", "--net", "--mount", "--propagation=private")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running one. Its API server answers on this machine alone."""

    files: Files
    programs: Programs

    def kubectl(self, *words: str, standard_input: str | None = None) -> str:
        """What kubectl prints. Raises LabError where it fails."""
        return self._run([self.programs["kubectl"], *words], standard_input)

    def get(self, *words: str) -> dict[str, Any]:
        """`kubectl get … -o json`."""
        return dict(json.loads(self.kubectl("get", *words, "-o", "json")))

    def apply(self, *objects: object) -> None:
        """`kubectl apply` of these objects."""
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        self.kubectl("apply", "-f", "-", standard_input=json.dumps(listed))

    def shell(self, script: str) -> str:
        """Run what a person would paste into a terminal, with the cluster's kubectl. Raises LabError where it fails."""
        return self._run(["sh", "-euc", script], None)

    def helm(self, *words: str) -> str:
        """What helm prints. Raises LabError where it fails."""
        return self._run([self.programs["helm"], *words], None)

    def load(self, image: images.Image) -> None:
        """Give an image to the node's container runtime."""
        archive = self.files.folder / "image.tar"
        image.write(archive)
        # containerd's socket is in the node's mount namespace.
        self.on_node(str(self.programs.debian / "usr/bin/ctr"), "-n", "k8s.io", "images", "import", str(archive))
        archive.unlink()

    def on_node(self, *command: str) -> str:
        """Run a command in the node's namespaces. Raises LabError where it fails."""
        pid = running_pid(self.files)
        if pid is None:
            raise LabError("The cluster has ended.")
        return self._run(["nsenter", f"--target={pid}", "--mount", "--net", *command], None)

    def _run(self, command: list[str], standard_input: str | None) -> str:
        home = self.files.folder / "home"  # helm and kubectl keep caches there
        home.mkdir(exist_ok=True)
        environment = {**self.programs.environment, "KUBECONFIG": str(self.files.admin), "HOME": str(home)}
        try:
            done = subprocess.run(
                command, input=standard_input, env=environment, capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError) as error:
            detail = getattr(error, "stderr", None) or error
            raise LabError(f"`{' '.join(command)}` failed: {detail}") from error
        return done.stdout


def running_pid(files: Files) -> int | None:
    """The process of the node that runs, which holds the lock."""
    try:
        with files.lock.open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        written = files.lock.read_text()
        return int(written) if written else None
    except FileNotFoundError:
        pass
    return None


def found() -> Cluster | None:
    """The cluster that runs already."""
    if not Path(configuration.JOURNALD).exists():
        raise LabError("systemd-journald is missing for the kubelet's log: run `make deps`.")
    files = Files.of_this_user()
    if running_pid(files) is None or not files.ready.exists():
        return None
    return Cluster(files, building.ready(lambda _text: None))


def up(say: Say, owner: int = 0) -> Cluster:
    """Start it, and wait until its node is ready; it ends when the process `owner` does (0: nobody's).

    Raises LabError where it cannot, and where one runs already.
    """
    if os.geteuid() != 0:
        raise LabError("The cluster needs root: it makes namespaces and cgroups.")
    files = Files.of_this_user()
    if running_pid(files) is not None:
        raise LabError("A cluster runs already. `make cluster-down` ends it.")
    programs = building.ready(say)
    remove(say)
    say(f"Starting Kubernetes {building.KUBERNETES}")
    configuration.write(files, programs)
    files.lock.touch()
    cluster = Cluster(files, programs)
    pause = Path(programs["pause"])
    try:
        node = _start(files, owner)
        _wait_until_ready(cluster, node)
        cluster.load(images.Image(SANDBOX_IMAGE, {"/pause": pause}, entrypoint=["/pause"], user="65535:65535"))
    except BaseException:
        remove(say)
        raise
    return cluster


@contextmanager
def running(say: Say) -> Iterator[Cluster]:
    """The cluster that runs already, or one that is removed afterwards, also when this process is killed."""
    if (cluster := found()) is not None:
        yield cluster
        return
    try:
        yield up(say, os.getpid())
    finally:
        remove(say)


def _start(files: Files, owner: int) -> subprocess.Popen[bytes]:
    """The node's process, outside the session of this one, and the link to it."""
    with (files.logs / "node.log").open("wb") as log:
        node = subprocess.Popen(
            [*_APART, sys.executable, "-m", "labs.kubernetes.node", str(owner)],
            cwd=REPOSITORY / "backend",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _started.append(node)
    own, entered = Path("/proc/self/ns/net").readlink(), Path(f"/proc/{node.pid}/ns/net")
    while node.poll() is None and entered.readlink() == own:
        time.sleep(0.01)
    for words in (
        ["link", "add", HOST_LINK, "type", "veth", "peer", "name", "eth0", "netns", str(node.pid)],
        ["address", "add", f"{HOST_ADDRESS}/{LINK_BITS}", "dev", HOST_LINK],
        ["link", "set", HOST_LINK, "up"],
    ):
        packages.run(["ip", *words])
    return node


def _wait_until_ready(cluster: Cluster, node: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _READY_PATIENCE_S
    while not cluster.files.ready.exists() or not _is_ready(cluster):
        if node.poll() is not None:
            log = (cluster.files.logs / "node.log").read_text(errors="replace")
            told = cluster.files.failure.read_text() if cluster.files.failure.exists() else log[-2000:]
            raise LabError(f"The node did not start: {told}")
        if time.monotonic() > deadline:
            raise LabError(f"The node was not ready within {_READY_PATIENCE_S:.0f} s: see {cluster.files.logs}.")
        time.sleep(0.2)


def _is_ready(cluster: Cluster) -> bool:
    try:
        conditions = cluster.get("node", NODE)["status"].get("conditions", [])
    except LabError:
        return False  # it has not registered yet
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def remove(say: Say) -> None:
    """End the cluster and remove its processes, cgroups, link, and files; what a killed one left too."""
    files = Files.of_this_user()
    if (pid := running_pid(files)) is not None:
        say("Ending the cluster")
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _END_PATIENCE_S
        while running_pid(files) is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        if (pid := running_pid(files)) is not None:
            os.kill(pid, signal.SIGKILL)
    while _started:
        _started.pop().wait(_END_PATIENCE_S)
    tree.remove()
    # The link goes with the network namespace, which the kernel takes down some time after its last process.
    subprocess.run(["ip", "link", "delete", HOST_LINK], capture_output=True, check=False)
    # All mounts of the node were in its own mount namespace: nothing of others is below this folder.
    shutil.rmtree(files.folder, ignore_errors=True)
    files.lock.unlink(missing_ok=True)
