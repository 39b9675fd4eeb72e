"""Case 5 on the cluster: pods wait for an agent whose eBPF programs keep the kernel's verifier busy."""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from labs import built, packages
from labs.applying.ongoing import ProposedFix
from labs.console import Say
from labs.kubernetes import configuration, images, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.fault import Case, Fault, Parameters
from labs.kubernetes.layout import FIRST, SANDBOX_IMAGE
from labs.kubernetes.objects import CLIENTS, SYSTEM, Object, Workload
from labs.podstart.variants import OBJECTIVE_S

_IMAGE, _AGENT, _PODS = "jitterscope-lab/network-agent:1", "network-agent", "web"
_PLUGIN = Path(__file__).with_name("cni_plugin.py")
_PROGRAM = Path(__file__).with_name("cni_agent.py")
_VERIFIED, _BRANCHES, _SAMPLES, _SAMPLE = 450_000, 8, 5, 60_000
# Five of eight, as in the Cilium change that this imitates.
_UNUSED = 5 / 8


class Starts(Parameters):
    """The verifier alone takes a little longer than a start may; everything else in a start takes 1 to 2 s here."""

    verifier_s: float = Field(OBJECTIVE_S + 0.5, ge=1, le=20, description="seconds that the verifier takes for a pod")
    every_s: float = Field(10, ge=5, le=60, description="seconds from one pod to the next")


class _Pods:
    """One pod after another, at a steady pace."""

    def __init__(self, cluster: Cluster, pods: Workload, every_s: float) -> None:
        self._cluster, self._pods, self._every_s = cluster, pods, every_s
        self._due_s = time.monotonic() + every_s

    def goes_on(self) -> bool:
        """Once the newest pod runs and its time is over, it makes room for the next."""
        if time.monotonic() >= self._due_s and objects.must_run(self._cluster, self._pods):
            self._due_s = time.monotonic() + self._every_s
            space, selector = self._pods.namespace, self._pods.selector
            self._cluster.kubectl("-n", space, "delete", "pod", "-l", selector, "--wait=false")
        return True


@contextmanager
def _delayed(cluster: Cluster, p: Starts, say: Say) -> Iterator[Fault]:
    """The agent, its CNI plugin on the node, and pods that start one after another."""
    programs = _needed(p.verifier_s, say)
    folder = cluster.files.folder / "agent"
    folder.mkdir(exist_ok=True)
    say(f"Deploying an agent that loads {programs} programs for each pod")
    cluster.load(images.Image(_IMAGE, {f"/{_AGENT}": built.fault(), "/agent.py": _PROGRAM}))
    agent, pods = _agent(folder, programs), _pods()
    with _waited_for(cluster, folder / "socket"), objects.running(cluster, (agent, pods)):
        [pod] = objects.pods_of(cluster, pods)

        def fewer(_fix: ProposedFix) -> str:
            # Only the agent's own settings decide which programs it loads: the incident names them, and this is the
            # setting.
            left = programs - round(_UNUSED * programs)
            return f"kubectl -n {SYSTEM} set env deployment/{_AGENT} PROGRAMS={left}"

        starts = _Pods(cluster, pods, p.every_s)
        yield Fault(pod["metadata"]["name"], starts.goes_on, before_s=90.0, to_incident_s=150.0, command=fewer)


def _needed(verifier_s: float, say: Say) -> int:
    """How many programs keep this machine's verifier busy long enough."""
    sample = ["load", f"--sections={_SAMPLES}", f"--verified={_SAMPLE}", f"--branches={_BRANCHES}"]
    before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
    tried = json.loads(packages.run([str(built.fault()), *sample]))["programs"]
    # CPU time, not wall time: what else runs on this machine might stop at any moment.
    took_s: float = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime - before_s
    each_us = 1e6 * took_s / sum(one["verified_instructions"] or _SAMPLE for one in tried)
    say(f"The verifier takes {each_us:.2f} µs for an instruction here")
    return min(64, math.ceil(1e6 * verifier_s / (_VERIFIED * each_us)))


@contextmanager
def _waited_for(cluster: Cluster, socket: Path) -> Iterator[None]:
    """Add the plugin at the end of the node's chain, as an agent installs its own; containerd watches the folder."""
    plugin = cluster.files.of(FIRST).plugins / _AGENT
    plugin.write_text(f"#!{Path(sys.executable).resolve()} -IS\n{_PLUGIN.read_text()}")
    plugin.chmod(0o755)
    try:
        configuration.write_pod_network(cluster.files, FIRST, {"type": _AGENT, "socket": str(socket)})
        yield
    finally:
        configuration.write_pod_network(cluster.files, FIRST)


def _agent(folder: Path, programs: int) -> Workload:
    volumes, mounts = objects.shown(*objects.programs(Path(sys.base_prefix)))
    loader = [f"/{_AGENT}", "load", "--hold", f"--verified={_VERIFIED}", f"--branches={_BRANCHES}"]
    container: Object = {
        "name": "agent",
        "image": _IMAGE,
        "imagePullPolicy": "Never",
        "command": [str(Path(sys.executable).resolve()), "-IS", "/agent.py", str(folder / "socket"), *loader],
        "env": [{"name": "PROGRAMS", "value": str(programs)}],
        "resources": {"requests": {"cpu": "250m"}},
        "securityContext": {"capabilities": {"add": ["BPF", "NET_ADMIN", "PERFMON", "SYS_ADMIN"]}},
        "volumeMounts": [*mounts, {"name": "socket", "mountPath": str(folder)}],
    }
    pod: Object = {
        "containers": [container],
        "volumes": [*volumes, {"name": "socket", "hostPath": {"path": str(folder), "type": "Directory"}}],
    }
    labels = {"app": _AGENT}
    return Workload(_AGENT, SYSTEM, labels, (objects.deployment(_AGENT, SYSTEM, labels, pod),))


def _pods() -> Workload:
    """Pods without an image to pull and without volumes, so that nothing else slows their start."""
    container = {"name": _PODS, "image": SANDBOX_IMAGE, "imagePullPolicy": "Never"}
    pod: Object = {"automountServiceAccountToken": False, "containers": [container]}
    labels = {"app": _PODS}
    made = objects.deployment(_PODS, CLIENTS, labels, pod)
    return Workload(_PODS, CLIENTS, labels, (objects.namespace(CLIENTS), made))


CASE = Case(
    name="5",
    title="pods that wait for an agent whose eBPF programs take long to verify",
    cause="pods/bpf_verification",
    fix="leave_out",
    parameters=Starts,
    made=_delayed,
)
