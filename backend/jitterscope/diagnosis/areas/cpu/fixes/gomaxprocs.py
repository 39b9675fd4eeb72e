"""Fix: GOMAXPROCS no higher than the limit, so that GC cannot use more CPUs at once than the quota pays for."""

from __future__ import annotations

import math

from jitterscope.diagnosis.areas.cpu.fixes import predict
from jitterscope.diagnosis.areas.cpu.readings.throttling import Throttling
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.finding import Fix, FixSetting, Found, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Seen, changed
from jitterscope.diagnosis.core.signals import number, own_limit
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import golang

REFERENCES = [
    "https://go.dev/doc/go1.25#container-aware-gomaxprocs",
    "https://github.com/uber-go/automaxprocs",
    "https://github.com/golang/go/issues/33803",
    "https://github.com/golang/go/issues/59715",
]


def propose(snapshot: Snapshot, throttling: Throttling, found: Found) -> Fix | None:
    """None where GOMAXPROCS is already no higher than the limit rounded down (or 1)."""
    cpu, go = throttling.cpu, throttling.gc
    if go is None or go.runtime != "go":
        return None
    node = number(snapshot.node.fact("node.cpus"))
    own = own_limit(snapshot)
    now = golang.maxprocs(go.view, own, node)
    wanted = max(1, math.floor(cpu.limit + 1e-9))
    if now.value is not None and now.value <= wanted:
        return None
    by_default = golang.default_maxprocs(go.view, own, node)
    texts, undo = _patches(snapshot, wanted, by_default if now.from_environment else None)
    caveats = [
        f"{throttling.served.noun.capitalize()} also have fewer concurrent CPUs: check latency in a burst.",
        _defaults(by_default, golang.default_reason(go.view, own)),
    ]
    if patches.manager(snapshot) == "kubernetes":
        caveats.append("resourceFieldRef rounds a fraction of a CPU up: a limit of 1500m gives 2.")
    current = f"{now.value} ({now.why})" if now.value is not None else "unknown"
    if cpu.limit < 1:
        verdict = "cannot_help"
        summary = (
            f"Cannot help enough: the limit is {cpu.limit:g} CPU, and even one CPU in use uses up the quota of a "
            f"period after {cpu.period_quota_us / 1000:.0f} of {cpu.period_us / 1000:.0f} ms. GOMAXPROCS is {current}."
        )
    else:
        verdict = "removes"
        summary = (
            f"GOMAXPROCS is {current}; with {wanted} the program cannot use more CPU than its limit of {cpu.limit:g} "
            "in any period."
        )
        if now.value is None:
            verdict = "unknown"
    # What is in force has to be known to tell what another value changes.
    known = now.value is not None
    setting = FixSetting(gomaxprocs=wanted)
    said = predict.replayed(snapshot, setting) if known else predict.Replayed()
    return Fix(
        id="gomaxprocs",
        title=f"Set GOMAXPROCS={wanted}",
        summary=summary,
        verdict=verdict,
        predicted=predictions(slow_ratio=said.slow_ratio, throttled_ratio=said.throttled_ratio),
        setting=setting,
        patches=texts,
        caveats=caveats,
        verify=patches.VERIFY,
        undo=undo,
        references=REFERENCES,
    )


def _patches(snapshot: Snapshot, wanted: int, by_default: int | None) -> tuple[list[Patch], str]:
    texts, undo = patches.environment(snapshot, {"GOMAXPROCS": str(wanted)})
    if patches.manager(snapshot) == "kubernetes":
        texts.append(
            Patch(
                label="In the manifest, following the limit",
                language="yaml",
                text="env:\n- name: GOMAXPROCS\n  valueFrom:\n    resourceFieldRef:\n      resource: limits.cpu",
            )
        )
    if by_default is not None and by_default <= wanted:
        # What sets it too high is the environment: without it this build does the right thing.
        removed, _ = patches.environment(snapshot, {"GOMAXPROCS": None})
        texts += [
            Patch(label=f"Or unset it: this build then takes {by_default}", language=p.language, text=p.text)
            for p in removed[:1]
        ]
    return texts, undo


def _defaults(value: int | None, why: str) -> str:
    taken = f" ({value} here)" if value is not None else ""
    return f"With GOMAXPROCS unset, this build uses: {why}{taken}."


FIXES = (
    FixKind(
        id="gomaxprocs",
        title="Set GOMAXPROCS to the CPU limit",
        precondition="A Go program with GOMAXPROCS above its CPU limit.",
        landing=Seen(
            "GOMAXPROCS in the environment of the program changes.",
            ("go.env.GOMAXPROCS", "memory.limit_bytes"),
            lambda before, after: changed(before, after, "go.env.GOMAXPROCS"),
        ),
        lab="coredns-gc --apply gomaxprocs",
    ),
)
