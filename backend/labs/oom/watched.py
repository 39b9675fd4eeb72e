"""A coredns-oom run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from labs import watching
from labs.console import Say
from labs.figures import TICK_US
from labs.oom.bench import Bench, Run, bench, run
from labs.oom.figures import OomFigures
from labs.oom.observed import GIVES_UP_US, observed
from labs.oom.predicted import Prediction, predictions
from labs.oom.variants import Parameters, Variant, expected_cause
from labs.product import Product
from labs.report import Report, line_of, onset_us, opened_us, seconds_to_incident
from labs.sightings import Sightings
from labs.watching import Said

LAB = "coredns-oom"
_MEMORY = "memory/"
_SLOW_UPSTREAM_MS = 1_000.0
# An onset is at a tick's time, or at the first sign during the calm before.
_WITH_THE_WINDOW_US = 1_000_000


class OomReport(Report[OomFigures]):
    """The report of one run.

    `time_to_incident_s` is from the start of the load, `incident_before_kill_s` from the incident to the OOM kill after
    the start. Both are of the first incident about memory; the latter is negative if it was late, None without incident
    or kill. The upstream is slow from the start, before the burst, and the product might report that too: what was
    there before comes last among `incidents`. `predictions`: what the incident said about the kill before it happened,
    oldest first.
    """

    incident_before_kill_s: float | None
    predictions: list[Prediction]


def watch(product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say) -> OomReport:
    """Run the lab under a running product and report both sets of figures. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        bench(parameters, Path(folder), say) as made,
    ):
        cgroup_ids = watching.find_cgroups(product, [one.cgroup.key for one in (made.server, made.upstream)])
        with Sightings(product, cgroup_ids[:1], watching.now_us()) as sightings:
            done = run(made, say)
        say("Waiting for the product's final verdict")
        expected = expected_cause(variant, done.killed_us is not None, parameters.reclaims)
        said = watching.last_word(product, cgroup_ids, done.from_us, done.to_us)
        said = _news_first(said, done.from_us)
        report = _report(product, variant, made, done, cgroup_ids[0], said, sightings)
        if record_to is not None:
            labels = watching.labels(LAB, variant.value, expected, parameters, done.figures, done.from_us)
            if parameters.delay_ms >= _SLOW_UPSTREAM_MS:
                labels["also"] = "dns/slow_upstream"
            watching.record(product, cgroup_ids[0], done.from_us, done.to_us, labels, record_to)
        return report


def _observed(product: Product, made: Bench, done: Run, cgroup_id: int) -> OomFigures:
    # A late SERVFAIL of the window's last query, half a second longer than it usually takes.
    end_us = done.to_us + GIVES_UP_US + 5 * TICK_US
    product.wait_until_stored(cgroup_id, "cpu_usage_us", done.from_us, end_us)
    ticks = (done.to_us - done.from_us) // TICK_US
    return observed(product.recording(cgroup_id, done.from_us, end_us), made.server, ticks + 10)


def _news_first(said: Said, from_us: int) -> Said:
    """Sort what began with the measured window before what already existed, otherwise in opening order."""
    return replace(
        said, incidents=sorted(said.incidents, key=lambda one: onset_us(one) < from_us - _WITH_THE_WINDOW_US)
    )


def _report(
    product: Product, variant: Variant, made: Bench, done: Run, cgroup_id: int, said: Said, sightings: Sightings
) -> OomReport:
    killed_us, incidents = done.killed_us, said.incidents
    own = [one for one in incidents if one["subject"]["resource_id"] == cgroup_id and one["cause"].startswith(_MEMORY)]
    return OomReport(
        lab=LAB,
        variant=variant.value,
        parameters=made.parameters.model_dump(),
        incidents=[line_of(one) for one in incidents],
        risks=[line_of(one) for one in said.risks],
        measured=done.figures,
        observed=_observed(product, made, done, cgroup_id),
        time_to_incident_s=seconds_to_incident(own, done.from_us),
        incident_urls=said.urls(product),
        incident_before_kill_s=round((killed_us - opened_us(own[0])) / 1e6, 3) if own and killed_us else None,
        predictions=predictions(sightings, killed_us, done.from_us),
    )
