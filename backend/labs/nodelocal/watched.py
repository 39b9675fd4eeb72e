"""A nodelocal-dnsmasq run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

from jitterscope.diagnosis.core.query_results import GIVEN_UP_US
from labs import watching
from labs.console import Say
from labs.figures import TICK_US
from labs.nodelocal.bench import Bench, Run, bench, run
from labs.nodelocal.figures import PathFigures
from labs.nodelocal.observed import observed
from labs.nodelocal.variants import Parameters, Variant, expected_cause
from labs.product import Product
from labs.report import Report, line_of, opened_us, seconds_to_incident
from labs.watching import Said

LAB = "nodelocal-dnsmasq"


class PathReport(Report[PathFigures]):
    """The report of one run.

    `time_to_incident_s` is from the start of the load, `incident_before_servfail_s` from the incident to the first
    SERVFAIL after the start. The latter is negative if the incident was late, None without incident or SERVFAIL.
    `calm_slow_share`: slow as in the figures, out of the queries due before the load; None without any.
    """

    incident_before_servfail_s: float | None
    calm_slow_share: float | None


def watch(product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say) -> PathReport:
    """Run the lab under a running product and report both sets of figures. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        bench(parameters, Path(folder), say) as made,
    ):
        cgroup_ids = watching.find_cgroups(product, [one.cgroup.key for one in made.servers])
        done = run(made, say)
        say("Waiting for the product's final verdict")
        said = watching.last_word(product, cgroup_ids, done.from_us, done.to_us)
        report = _report(product, variant, made, done, cgroup_ids, said)
        if record_to is not None:
            _record(product, variant, made, done, cgroup_ids, record_to)
        return report


def _report(
    product: Product, variant: Variant, made: Bench, done: Run, cgroup_ids: list[int], said: Said
) -> PathReport:
    p = made.parameters
    until_us = done.to_us + GIVEN_UP_US + 10 * TICK_US
    node_local, *dnsmasqs, _ = (product.recording(id_, done.from_us, until_us) for id_ in cgroup_ids)
    servfail_us, incidents = done.first_servfail_us, said.incidents
    return PathReport(
        lab=LAB,
        variant=variant.value,
        parameters=p.model_dump(),
        incidents=[line_of(one) for one in incidents],
        risks=[line_of(one) for one in said.risks],
        measured=done.figures,
        observed=observed(
            node_local,
            made.node_local,
            list(zip(dnsmasqs, made.dnsmasqs, strict=True)),
            p.limit,
            p.slow_ms,
            (done.to_us - done.from_us) // TICK_US,
        ),
        time_to_incident_s=seconds_to_incident(incidents, done.from_us),
        incident_urls=said.urls(product),
        incident_before_servfail_s=(
            round((servfail_us - opened_us(incidents[0])) / 1e6, 3) if incidents and servfail_us else None
        ),
        calm_slow_share=done.calm_slow_share,
    )


def _record(product: Product, variant: Variant, made: Bench, done: Run, cgroup_ids: list[int], path: Path) -> None:
    """Record the first dnsmasq, with its neighbors on the path."""
    labels = watching.labels(
        LAB, variant.value, expected_cause(made.parameters), made.parameters, done.figures, done.from_us
    )
    watching.record(product, cgroup_ids[1], done.from_us, done.to_us, labels, path)
