"""Starts the cluster, runs commands on it, and removes every trace of it, even if its starter was killed."""

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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jitterscope.settings import REPOSITORY
from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import building, configuration, images, links, tree
from labs.kubernetes.building import Programs
from labs.kubernetes.layout import FIRST, MOST_NODES, SANDBOX_IMAGE, Files, Node

_READY_PATIENCE_S = 240.0
_END_PATIENCE_S = 30.0
# Children of this process: the kernel keeps their exit codes until they are reaped.
_started: list[subprocess.Popen[bytes]] = []
_APART = ("unshare", "--net", "--mount", "--propagation=private")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster. Its API server is reachable from this machine only."""

    files: Files
    programs: Programs

    def kubectl(self, *words: str, standard_input: str | None = None) -> str:
        """What kubectl prints. Raises LabError if it fails."""
        return self._run([self.programs["kubectl"], *words], standard_input)

    def get(self, *words: str) -> dict[str, Any]:
        """`kubectl get … -o json`."""
        return dict(json.loads(self.kubectl("get", *words, "-o", "json")))

    def apply(self, *objects: object) -> None:
        """`kubectl apply` of these objects."""
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        self.kubectl("apply", "-f", "-", standard_input=json.dumps(listed))

    def shell(self, script: str) -> str:
        """Run a command as a person would paste it, with the cluster's kubectl. Raises LabError if it fails."""
        return self._run(["sh", "-euc", script], None)

    def helm(self, *words: str) -> str:
        """What helm prints. Raises LabError if it fails."""
        return self._run([self.programs["helm"], *words], None)

    @property
    def nodes(self) -> list[Node]:
        return self.files.nodes()

    def load(self, image: images.Image) -> None:
        """Load an image into the container runtime of each node."""
        archive = self.files.folder / "image.tar"
        image.write(archive)
        # containerd's socket is in the node's mount namespace.
        taken = [str(self.programs.debian / "usr/bin/ctr"), "-n", "k8s.io", "images", "import", str(archive)]
        with ThreadPoolExecutor(len(self.nodes)) as together:
            list(together.map(lambda node: self.on_node(*taken, node=node), self.nodes))
        archive.unlink()

    def on_node(self, *command: str, node: Node = FIRST) -> str:
        """Run a command in a node's namespaces. Raises LabError if it fails."""
        return self._run(["nsenter", f"--target={self.pid(node)}", "--mount", "--net", *command], None)

    def pid(self, node: Node) -> int:
        """The node's process. Raises LabError if it has ended."""
        pid = running_pid(self.files, node)
        if pid is None:
            raise LabError(f"{node.name} has ended.")
        return pid

    def restart(self, node: Node, name: str) -> None:
        """End a node's kubelet or container runtime and start it again. Raises LabError if that fails."""
        asked, deadline = self.files.of(node).restart, time.monotonic() + _END_PATIENCE_S
        asked.write_text(name)
        os.kill(self.pid(node), signal.SIGHUP)
        while asked.exists():
            if time.monotonic() > deadline:
                raise LabError(f"The {name} of {node.name} did not start again: see {self.files.of(node).logs}.")
            time.sleep(0.05)

    @contextmanager
    def only_first_node(self) -> Iterator[None]:
        """Schedule nothing new on the other nodes, except DaemonSet pods.

        Kernel-wide data do not belong to one node here, so two collectors would report them twice.
        """
        others = [node.name for node in self.nodes if node != FIRST]
        for name in others:
            self.kubectl("cordon", name)
        try:
            yield
        finally:
            for name in others:
                self.kubectl("uncordon", name)

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


def running_pid(files: Files, node: Node = FIRST) -> int | None:
    """The process of a running node, which holds its lock."""
    place = files.of(node).lock
    try:
        with place.open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        written = place.read_text()
        return int(written) if written else None
    except FileNotFoundError:
        pass
    return None


def found() -> Cluster | None:
    """The cluster that already runs."""
    if not Path(configuration.JOURNALD).exists():
        raise LabError("systemd-journald is missing for the kubelet's log: run `make deps`.")
    files = Files.of_this_user()
    if FIRST not in (nodes := files.nodes()):
        return None
    if not all(running_pid(files, node) is not None and files.of(node).ready.exists() for node in nodes):
        return None
    return Cluster(files, building.ready(lambda _text: None))


def up(say: Say, owner: int = 0, nodes: int = 1) -> Cluster:
    """Start the cluster and wait until its nodes are ready; it ends with the process `owner` (0: no owner).

    Raises LabError if it cannot start, or if one already runs.
    """
    if os.geteuid() != 0:
        raise LabError("The cluster needs root: it makes namespaces and cgroups.")
    files, made = Files.of_this_user(), [Node(number) for number in range(1, nodes + 1)]
    if _alive(files):
        raise LabError("A cluster is already running. `make cluster-down` ends it.")
    programs = building.ready(say)
    remove(say)
    say(f"Starting Kubernetes {building.KUBERNETES} with {nodes} node{'s' * (nodes > 1)}")
    configuration.write(files, made, programs)
    cluster = Cluster(files, programs)
    pause = Path(programs["pause"])
    try:
        links.create()
        for node in made:
            files.of(node).lock.touch()
            # The others end with the first.
            _start(cluster, node, owner if node == FIRST else _started[0].pid)
        _wait_until_ready(cluster)
        cluster.load(images.Image(SANDBOX_IMAGE, {"/pause": pause}, entrypoint=["/pause"], user="65535:65535"))
    except BaseException:
        remove(say)
        raise
    return cluster


@contextmanager
def running(say: Say, nodes: int = 1) -> Iterator[Cluster]:
    """The cluster that already runs, or a new one that is removed afterwards, even if this process is killed.

    Raises LabError if the running one has fewer nodes.
    """
    if (cluster := found()) is not None:
        if len(cluster.nodes) < nodes:
            raise LabError(f"The running cluster has too few nodes: this needs {nodes}. `make cluster-down` ends it.")
        yield cluster
        return
    try:
        yield up(say, os.getpid(), nodes)
    finally:
        remove(say)


def _start(cluster: Cluster, node: Node, owner: int) -> None:
    """The node's process, in its own session, and its link."""
    with (cluster.files.of(node).logs / "node.log").open("wb") as log:
        process = subprocess.Popen(
            [*_APART, sys.executable, "-m", "labs.kubernetes.node", str(node.number), str(owner)],
            cwd=REPOSITORY / "backend",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _started.append(process)
    own, entered = Path("/proc/self/ns/net").readlink(), Path(f"/proc/{process.pid}/ns/net")
    while process.poll() is None and entered.readlink() == own:
        time.sleep(0.01)
    links.attach(node, process.pid)


def _wait_until_ready(cluster: Cluster) -> None:
    files, deadline = cluster.files, time.monotonic() + _READY_PATIENCE_S
    while not _is_ready(cluster):
        for node, process in zip(cluster.nodes, _started, strict=True):
            if process.poll() is not None:
                log = (files.of(node).logs / "node.log").read_text(errors="replace")
                failure = files.of(node).failure
                raise LabError(f"{node.name} did not start: {failure.read_text() if failure.exists() else log[-2000:]}")
        if time.monotonic() > deadline:
            raise LabError(f"The nodes were not ready within {_READY_PATIENCE_S:.0f} s: see {files.folder}/node*/log.")
        time.sleep(0.2)


def _is_ready(cluster: Cluster) -> bool:
    if not all(cluster.files.of(node).ready.exists() for node in cluster.nodes):
        return False
    try:
        nodes = cluster.get("nodes")["items"]
    except LabError:
        return False
    conditions = [one for node in nodes for one in node["status"].get("conditions", [])]
    ready = [one for one in conditions if one["type"] == "Ready" and one["status"] == "True"]
    return len(ready) == len(cluster.nodes)


def _alive(files: Files) -> list[Node]:
    """The running nodes, of any cluster."""
    return [node for node in map(Node, range(1, MOST_NODES + 1)) if running_pid(files, node) is not None]


def remove(say: Say) -> None:
    """End the cluster and remove its processes, cgroups, links, and files, including leftovers of a killed one."""
    files = Files.of_this_user()
    if _alive(files):
        say("Ending the cluster")
        _signal(files, signal.SIGTERM)
        deadline = time.monotonic() + _END_PATIENCE_S
        while _alive(files) and time.monotonic() < deadline:
            time.sleep(0.05)
        _signal(files, signal.SIGKILL)
    while _started:
        _started.pop().wait(_END_PATIENCE_S)
    tree.remove()
    links.remove()
    # All mounts of the nodes were in their own mount namespaces: nothing else is mounted below this folder.
    shutil.rmtree(files.folder, ignore_errors=True)
    for node in map(Node, range(1, MOST_NODES + 1)):
        files.of(node).lock.unlink(missing_ok=True)


def _signal(files: Files, number: signal.Signals) -> None:
    for node in _alive(files):
        if (pid := running_pid(files, node)) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
