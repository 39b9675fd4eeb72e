"""A search-domains run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

from labs import watching
from labs.console import Say
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident
from labs.search.bench import Run, bench, run
from labs.search.figures import SearchFigures
from labs.search.observed import observed
from labs.search.variants import Parameters, Variant, expected_cause

LAB = "search-domains"


def watch(
    product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say
) -> Report[SearchFigures]:
    """Run the lab under a running product and report both sets of figures. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        bench(parameters, Path(folder), say) as made,
    ):
        cgroups = [made.cluster_dns.cgroup, made.outside.cgroup, *(pod.cgroup for pod in made.pods)]
        cgroup_ids = watching.find_cgroups(product, [one.key for one in cgroups])
        done = run(made, say)
        say("Waiting for the product's final verdict")
        said = watching.last_word(product, cgroup_ids, done.from_us, done.to_us, visited=2)
        seen = product.recording(cgroup_ids[0], done.from_us, done.to_us)
        if record_to is not None:
            _record(product, variant, parameters, done, cgroup_ids[0], record_to)
        return Report[SearchFigures](
            lab=LAB,
            variant=variant.value,
            parameters=parameters.model_dump(),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=done.figures,
            observed=observed(seen, made.cluster_dns.key),
            time_to_incident_s=seconds_to_incident(said.incidents, done.from_us),
            incident_urls=said.urls(product),
        )


def _record(product: Product, variant: Variant, parameters: Parameters, done: Run, cgroup_id: int, path: Path) -> None:
    """Record the cluster's DNS, with its clients."""
    labels = watching.labels(LAB, variant.value, expected_cause(parameters), parameters, done.figures, done.from_us)
    watching.record(product, cgroup_id, done.from_us, done.to_us, labels, path)
