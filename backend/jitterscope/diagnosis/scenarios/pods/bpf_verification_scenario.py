"""Nodes whose pods wait for the verifier, and look-alikes: slow images, slow sandboxes, other programs."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.pods.simulate import CILIUM_112, Loader, PodLoad, run
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "pods/bpf_verification"


def _fault(name: str, load: PodLoad, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"bpf_verification/{name}", ID, partial(run, load), hurts, note)


def _fine(name: str, load: PodLoad, note: str = "") -> Scenario:
    return Scenario(f"bpf_verification/healthy: {name}", None, partial(run, load), note=note)


def _cilium(times: float) -> Loader:
    return Loader("cilium-agent", {name: times * mean for name, mean in CILIUM_112.items()})


_BUSY = _cilium(8)
_OTHER = {f"probe_{i:02d}": 0.4 for i in range(6)}

SCENARIOS = (
    _fault("Cilium 1.12 on a slow node", PodLoad(loader=_BUSY, cilium="1.12.3", cilium_metrics=True, seed=61)),
    _fault("few pods, the agent tells nothing", PodLoad(pods=6, loader=_cilium(9), told_at_cgroup=True, seed=62)),
    _fault("another loader, half the pods on the host network", PodLoad(
        pods=40, loader=Loader("felix", {"cali_from_wep": 2.6, "cali_to_wep": 2.4}), host_network_ratio=0.5, seed=63)),
    _fault("while a monitor loads more in all", PodLoad(pods=12, loader=_BUSY, cilium="1.14.0", seed=74,
           beside=Loader("tetragon", {f"event_{i:02d}": 2.0 for i in range(30)}, for_pods=False, sets=1))),
    _fault("no time of the sandbox", PodLoad(loader=_BUSY, cilium="1.15.1", sandbox_told=False, seed=64)),
    _fault("half a second of three", PodLoad(loader=_cilium(1), cilium="1.12.3", cilium_metrics=True, before_s=1.7,
           sandbox_s=0.55, seed=65), hurts=False, note="case 5: P50 3088 ms, of it 500 ms in the verifier; within 5 s"),
    _fault("pruned, but still a third", PodLoad(loader=_cilium(2), cilium="1.19.3", seed=66), hurts=False),
    _fine("Cilium on a fast node", PodLoad(loader=_cilium(0.3), cilium="1.19.3", cilium_metrics=True, seed=67)),
    _fine("images of 40 s", PodLoad(pull_s=40.0, loader=_cilium(0.3), cilium="1.19.3", seed=68),
          note="the objective leaves pulls out"),
    _fine("no programs", PodLoad(seed=69)),
    _fine("nothing starts", PodLoad(pods=1, seconds=10, before_s=30, seed=70)),
    Scenario(
        "bpf_verification/near miss: slow to start, a monitor loads programs", "pods/pod_slo",
        partial(run, PodLoad(before_s=5.5, loader=Loader("tetragon", _OTHER, for_pods=False, sets=2), seed=71)),
    ),
    Scenario(
        "bpf_verification/near miss: as often as pods start, but not waited for", "pods/pod_slo",
        partial(run, PodLoad(before_s=5.5, loader=Loader("tracer", _OTHER, for_pods=False, sets=30), seed=72)),
        note="2.4 s of programs a set, but a sandbox takes 0.5 s",
    ),
    Scenario(
        "bpf_verification/near miss: half a second of nine", "pods/pod_slo",
        partial(run, PodLoad(before_s=7.0, sandbox_s=1.2, loader=_cilium(2.5), cilium="1.12.3", seed=73)),
        note="the verifier takes a tenth; without it all would be as late",
    ),
)  # fmt: skip
