"""The area `pods`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

from jitterscope.diagnosis.areas.pods.quantities import IMPACT, LATE_RATIO
from jitterscope.diagnosis.areas.pods.readings import figures
from jitterscope.diagnosis.areas.pods.readings.node_state import show_conditions, show_taints
from jitterscope.diagnosis.areas.pods.readings.programs_seen import PROGRAMS, programs, show_programs
from jitterscope.diagnosis.areas.pods.readings.starts import OBJECTIVE_US, PHASES
from jitterscope.diagnosis.areas.pods.whatif.answer import answer
from jitterscope.diagnosis.areas.pods.whatif.change import predict_change
from jitterscope.diagnosis.core import lanes
from jitterscope.diagnosis.core.area import (
    Area,
    Control,
    Lane,
    Line,
    Load,
    Mark,
    Measure,
    Sighting,
    WatchedFact,
    WhatIf,
    measured,
)

_STARTS = ("pod_start_sli_us", "pod_start_total_us", "pod_image_pull_us", "pod.start")
_LOADS = ("bpf_loads", "bpf_load_us")
AREA = Area(
    id="pods",
    title="Pod starts",
    lanes=(
        Lane(
            "pod_start", "Pod start time without image pulls", "us",
            tuple(
                Line(name, _STARTS[0], "line", hot=name == "p99", of="node", quantile=at, instead=_STARTS[1])
                for name, at in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
            ),
            limit=OBJECTIVE_US,
        ),
        Lane(
            "bpf", "CPUs busy loading eBPF programs", "cpu",
            (Line("loading and verifying", "bpf_load_us", "bars", hot=True, of="node", scale=lanes.PER_TICK_US),),
        ),
        lanes.NODE_CPU,
        lanes.LATENESS,
    ),
    marks=(
        Mark("bpf.load", "eBPF program loaded", "name"),
        Mark("pod.start", "pod started", "pod"),
        lanes.EVICTION,
    ),
    impact=IMPACT,
    measures=(
        measured(LATE_RATIO, PHASES, figures.late_starts),
        Measure("verifier_ms_per_start", "eBPF verifier time per pod start", "ms", (*_LOADS, *PHASES),
                figures.verifier_time, least=10.0),
        Measure("start_ms", "Mean pod start time", "ms", PHASES, figures.start_time, least=100.0),
        Measure("loads_per_start", "eBPF programs loaded per pod start", "1", (*_LOADS, *PHASES),
                figures.loads, decides=False),
    ),
    load=(Load("pod_starts", "pod starts/min", _STARTS, figures.starts_per_min, factor=2.0),),
    facts=(
        WatchedFact("node.cilium", "Cilium", "node"),
        WatchedFact("node.kubelet", "kubelet", "node"),
        WatchedFact("node.kernel", "Kernel", "node"),
    ),
    also_listed=(
        WatchedFact("node.conditions", "Conditions", "node", show_conditions),
        WatchedFact("node.taints", "Taints", "node", show_taints),
    ),
    sightings=(Sighting(PROGRAMS, "eBPF programs loaded per pod", ("bpf.load",), programs, show_programs),),
    whatifs=(
        WhatIf(
            "pod_start", "Pod starts without eBPF programs",
            "Predicts p50, p90, and p99 of the same pod starts without loading these programs for each pod.",
            (Control("without", "Programs left out", "names", hint="None checked: all of them are left out."),),
            answer=answer,
            subject="node",
            causes=("pods/bpf_verification",),
        ),
    ),
    predict_change=predict_change,
)  # fmt: skip
