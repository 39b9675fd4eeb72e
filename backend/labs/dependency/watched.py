"""A slow-dependency run that a product watches: the run, then the questions to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.types import FloatArray
from labs import watching
from labs.console import Say
from labs.dependency.bench import DependencyFigures, bench, run
from labs.dependency.variants import Parameters, Variant, expected_cause
from labs.figures import first_slow_us
from labs.observed import missing_ticks_ratio, observed
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident

LAB = "slow-dependency"


def watch(
    product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say
) -> Report[DependencyFigures]:
    """Run the lab under a running product and report both accounts. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        bench(parameters, Path(folder), say) as made,
    ):
        own, asked = watching.find_cgroups(product, [made.stage.cgroup.key, made.asked.key])
        done = run(made, say)
        from_us, to_us = done.measured.from_us, done.measured.to_us
        say("Waiting for the product's final verdict")
        said = watching.last_word(product, [own, asked], from_us, to_us)
        seen = product.recording(own, from_us, to_us)
        missing_ratio = missing_ticks_ratio(seen, say)
        if record_to is not None:
            expected = expected_cause(variant)
            labels = watching.labels(LAB, variant.value, expected, made.parameters, done.figures, from_us)
            watching.record(product, own, from_us, to_us, labels, record_to)
        return Report[DependencyFigures](
            lab=LAB,
            variant=variant.value,
            parameters=made.parameters.model_dump(),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=done.figures,
            observed=_observed(seen, made.server.key),
            time_to_incident_s=seconds_to_incident(said.incidents, first_slow_us(done.measured.load)),
            incident_urls=said.urls(product),
            missing_ticks_ratio=missing_ratio,
        )


def _observed(recording: Recording, server_key: str) -> DependencyFigures:
    own = [one for one in recording.resources if one.kind == "tcp_upstream" and one.parent == recording.subject]
    slow = [one.series["upstream_calls_slow"] for one in own if "upstream_calls_slow" in one.series]
    peaks = [float(np.nanmax(peak)) for one in own if np.isfinite(peak := _slowest(one)).any()]
    slowest = max(peaks, default=0.0)
    return DependencyFigures(
        **observed(recording, server_key).model_dump(),
        slow_calls=int(sum(np.nansum(one) for one in slow)) if slow else None,
        slowest_call_ms=slowest / 1e3 if slowest > SLOW_US else None,
    )


def _slowest(upstream: RecordedResource) -> FloatArray:
    return upstream.series.get("upstream_latency_max_us", np.full(1, np.nan))
