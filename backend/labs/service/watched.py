"""A service-gc run that a product watches: the run, then the questions to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

from labs import watching
from labs.console import Say
from labs.figures import Figures
from labs.observed import missing_ticks_ratio, observed
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident
from labs.service.bench import bench, run
from labs.service.variants import Parameters, Variant, expected_cause

LAB = "service-gc"


def watch(
    product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say
) -> Report[Figures]:
    """Run the lab under a running product and report both accounts. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        bench(parameters, Path(folder), say) as made,
    ):
        (cgroup_id,) = watching.find_cgroups(product, [made.stage.cgroup.key])
        done = run(made, say)
        say("Waiting for the product's final verdict")
        said = watching.last_word(product, [cgroup_id], done.from_us, done.to_us)
        seen = product.recording(cgroup_id, done.from_us, done.to_us)
        missing_ratio = missing_ticks_ratio(seen, say)
        if record_to is not None:
            labels = watching.labels(
                LAB, variant.value, expected_cause(variant), made.parameters, done.figures, done.from_us
            )
            watching.record(product, cgroup_id, done.from_us, done.to_us, labels, record_to)
        return Report[Figures](
            lab=LAB,
            variant=variant.value,
            parameters=made.parameters.model_dump(mode="json"),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=done.figures,
            observed=observed(seen, made.server.key),
            time_to_incident_s=seconds_to_incident(said.incidents, done.first_throttled_query_us),
            incident_urls=said.urls(product),
            missing_ticks_ratio=missing_ratio,
        )
