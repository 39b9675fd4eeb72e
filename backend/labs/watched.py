"""A coredns-gc run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

from labs import coredns_gc, watching
from labs.console import Say
from labs.coredns_gc import Run
from labs.figures import Figures
from labs.observed import missing_ticks_ratio, observed
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident
from labs.variants import Parameters, Variant

LAB = "coredns-gc"
_EXPECTED = {
    Variant.FAULT: "cpu/gc_throttling",
    Variant.GOMAXPROCS: "cpu/gc_throttling",
    Variant.BURST: "cpu/gc_throttling",
    Variant.REPLICAS: "cpu/gc_throttling",
    Variant.OVERLOAD: "cpu/limit_too_low",
    Variant.REQUEST_BURST: "cpu/request_burst",
    Variant.PERIODIC_BURST: "cpu/periodic_burst",
    Variant.GC_SPIRAL: "cpu/memory_limit_gc_spiral",
}


def expected_cause(variant: Variant) -> str:
    """The actual cause, or "none"."""
    return _EXPECTED.get(variant, "none")


def watch(
    product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say
) -> Report[Figures]:
    """Run the lab under a running product and report both sets of figures. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        coredns_gc.bench(variant, parameters, Path(folder), say) as made,
    ):
        (cgroup_id,) = watching.find_cgroups(product, [made.cgroup.key])
        run = coredns_gc.run(made, say)
        done = run.measured
        say("Waiting for the product's final verdict")
        said = watching.last_word(product, [cgroup_id], done.from_us, done.to_us)
        seen = product.recording(cgroup_id, done.from_us, done.to_us)
        missing_ratio = missing_ticks_ratio(seen, say)
        if record_to is not None:
            record(product, variant, run, cgroup_id, record_to)
        return Report[Figures](
            lab=LAB,
            variant=variant.value,
            parameters=run.parameters.model_dump(),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=done.figures,
            observed=observed(seen, made.server_key),
            time_to_incident_s=seconds_to_incident(said.incidents, done.first_throttled_query_us),
            incident_urls=said.urls(product),
            missing_ticks_ratio=missing_ratio,
        )


def record(product: Product, variant: Variant, run: Run, cgroup_id: int, path: Path) -> None:
    """Record what the product stored of a run, with what the lab measured."""
    done = run.measured
    labels = watching.labels(LAB, variant.value, expected_cause(variant), run.parameters, done.figures, done.from_us)
    labels["others_cpus"] = f"{done.others_cpus:.3f}"
    watching.record(product, cgroup_id, done.from_us, done.to_us, labels, path)
