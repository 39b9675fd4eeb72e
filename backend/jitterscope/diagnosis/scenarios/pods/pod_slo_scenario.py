"""Nodes whose pods start late because of the scheduler, volumes, the network, or the runtime."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.pods.simulate import CILIUM_112, Loader, PodLoad, run
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "pods/pod_slo"


def _fault(name: str, load: PodLoad) -> Scenario:
    return Scenario(f"pod_slo/{name}", ID, partial(run, load))


def _fine(name: str, load: PodLoad, note: str = "") -> Scenario:
    return Scenario(f"pod_slo/healthy: {name}", None, partial(run, load), note=note)


_CILIUM = Loader("cilium-agent", {name: 0.3 * mean for name, mean in CILIUM_112.items()})

SCENARIOS = (
    _fault("before the sandbox", PodLoad(before_s=6.0, loader=_CILIUM, cilium="1.19.3", seed=81)),
    _fault("the network plugin", PodLoad(sandbox_s=5.5, seed=82)),
    _fault("the container runtime, three pods", PodLoad(pods=3, container_s=9.0, seed=83)),
    _fault("images as well", PodLoad(pull_s=30.0, before_s=5.0, spread=0.3, seed=84)),
    _fine("at its usual speed", PodLoad(loader=_CILIUM, cilium="1.19.3", seed=85)),
    _fine("slow images alone", PodLoad(pull_s=60.0, seed=86), note="they do not count"),
    Scenario(
        "pod_slo/near miss: the verifier", "pods/bpf_verification",
        partial(run, PodLoad(loader=Loader("cilium-agent", {name: 8 * mean for name, mean in CILIUM_112.items()}),
                             cilium="1.13.0", seed=87)),
    ),
)  # fmt: skip
