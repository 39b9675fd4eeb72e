"""A lab run that a product watches: the run, then the questions to the product."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from jitterscope.labs import coredns_gc
from jitterscope.labs.coredns_gc import Run, Say
from jitterscope.labs.observed import missing_ticks, observed
from jitterscope.labs.product import Product
from jitterscope.labs.report import Report, line_of, time_to_incident_s
from jitterscope.labs.variants import Parameters, Variant
from jitterscope.recordings import file

LAB = "coredns-gc"
# The product looks at a troubled cgroup again every 10 s: after this it has said what it has to say.
_LAST_WORD_S = 12.0
_RECORD_LEAD_US = 5_000_000
_EXPECTED = {
    Variant.FAULT: "cpu/gc_throttling",
    Variant.GOMAXPROCS: "cpu/gc_throttling",
    Variant.BURST: "cpu/gc_throttling",
    Variant.OVERLOAD: "cpu/limit_too_low",
    Variant.REQUEST_BURST: "cpu/request_burst",
    Variant.PERIODIC_BURST: "cpu/periodic_burst",
    Variant.GC_SPIRAL: "cpu/memory_limit_gc_spiral",
}


def expected_cause(variant: Variant) -> str:
    """The cause that is really there; "none" where none is."""
    return _EXPECTED.get(variant, "none")


def watch(product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say) -> Report:
    """Run the lab under a running product and report both accounts. `record_to` keeps the product's data."""
    product.wait_for("a collector that delivers (one must run on this machine, as root)", product.receives, 30)
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        coredns_gc.bench(variant, parameters, Path(folder), say) as made,
    ):
        key = made.cgroup.key
        cgroup_id = product.wait_for(f"the cgroup {key}", lambda: product.cgroup_id(key), 30)
        done = coredns_gc.run(made, say)
        say("Waiting for the product's last word")
        time.sleep(max(0.0, done.to_us / 1e6 + _LAST_WORD_S - time.time()))
        product.wait_until_stored(cgroup_id, "cpu_usage_us", done.from_us, done.to_us)
        return _report(product, variant, done, cgroup_id, made.server_key, record_to, say)


def _report(
    product: Product, variant: Variant, done: Run, cgroup_id: int, server_key: str, record_to: Path | None, say: Say
) -> Report:
    seen = product.recording(cgroup_id, done.from_us, done.to_us)
    if lost := missing_ticks(seen):
        say(f"{lost} of {seen.ticks} ticks are missing in the product's data")
    incidents, risks = product.incidents(cgroup_id, done.from_us - _RECORD_LEAD_US), product.risks(cgroup_id)
    report = Report(
        lab=LAB,
        variant=variant.value,
        parameters=done.parameters.model_dump(),
        incidents=[line_of(one) for one in incidents],
        risks=[line_of(one) for one in risks],
        measured=done.figures,
        observed=observed(seen, server_key),
        time_to_incident_s=time_to_incident_s(incidents, done.first_throttled_query_us),
        incident_urls=[f"{product.url}/incidents/{one['id']}" for one in incidents],
    )
    if record_to is not None:
        _record(product, report, variant, done, cgroup_id, record_to)
    return report


def _record(product: Product, report: Report, variant: Variant, done: Run, cgroup_id: int, path: Path) -> None:
    whole = product.recording(cgroup_id, done.from_us - _RECORD_LEAD_US, done.to_us)
    labels = {
        "lab": LAB,
        "variant": variant.value,
        "expected": expected_cause(variant),
        "parameters": done.parameters.model_dump_json(),
        "measured": report.measured.model_dump_json(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    file.save(replace(whole, labels=labels), path)
