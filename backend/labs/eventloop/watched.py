"""An event-loop run that a product watches: the run, then the questions to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

from jitterscope.recordings.model import Recording
from labs import watching
from labs.console import Say
from labs.eventloop.bench import EventLoopFigures, bench, run
from labs.eventloop.variants import Parameters, Variant, expected_cause
from labs.figures import first_slow_us
from labs.noisy.waiting import observed_run_delay_s
from labs.observed import missing_ticks_ratio, observed
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident

LAB = "event-loop"


def watch(
    product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say
) -> Report[EventLoopFigures]:
    """Run the lab under a running product and report both accounts. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        bench(parameters, Path(folder), say) as made,
    ):
        (cgroup_id,) = watching.find_cgroups(product, [made.stage.cgroup.key])
        done = run(made, say)
        from_us, to_us = done.measured.from_us, done.measured.to_us
        say("Waiting for the product's final verdict")
        said = watching.last_word(product, [cgroup_id], from_us, to_us)
        seen = product.recording(cgroup_id, from_us, to_us)
        missing_ratio = missing_ticks_ratio(seen, say)
        if record_to is not None:
            expected = expected_cause(variant)
            labels = watching.labels(LAB, variant.value, expected, made.parameters, done.figures, from_us)
            watching.record(product, cgroup_id, from_us, to_us, labels, record_to)
        return Report[EventLoopFigures](
            lab=LAB,
            variant=variant.value,
            parameters=made.parameters.model_dump(mode="json"),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=done.figures,
            observed=_observed(seen, made.server.key),
            time_to_incident_s=seconds_to_incident(said.incidents, first_slow_us(done.measured.load)),
            incident_urls=said.urls(product),
            missing_ticks_ratio=missing_ratio,
        )


def _observed(recording: Recording, server_key: str) -> EventLoopFigures:
    return EventLoopFigures(**observed(recording, server_key).model_dump(), run_delay_s=observed_run_delay_s(recording))
