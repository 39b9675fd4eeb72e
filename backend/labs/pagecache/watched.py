"""A page-cache run that a product watches: the run, then the questions to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from jitterscope.recordings.model import Recording
from labs import watching
from labs.blocking import observed_blocked_s
from labs.console import Say
from labs.figures import first_slow_us
from labs.observed import missing_ticks_ratio, observed
from labs.pagecache.bench import CacheFigures, bench, run
from labs.pagecache.variants import Parameters, Variant, expected_cause
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident

LAB = "page-cache"
_REFAULTS = "memory_refaults"


def watch(
    product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say
) -> Report[CacheFigures]:
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
        return Report[CacheFigures](
            lab=LAB,
            variant=variant.value,
            parameters=made.parameters.model_dump(),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=done.figures,
            observed=_observed(seen, made.stage.server.key),
            time_to_incident_s=seconds_to_incident(said.incidents, first_slow_us(done.measured.load)),
            incident_urls=said.urls(product),
            missing_ticks_ratio=missing_ratio,
        )


def _observed(recording: Recording, server_key: str) -> CacheFigures:
    figures = observed(recording, server_key).model_dump() | {"gc_cycles": None}
    pages = recording.resources[recording.subject].series.get(_REFAULTS)
    refaults = None if pages is None else int(np.nansum(pages))
    return CacheFigures(**figures, refaults=refaults, blocked_s=observed_blocked_s(recording))
