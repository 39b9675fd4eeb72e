"""A negative-dentries run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from jitterscope.diagnosis.areas.kernel.whatif import dentry_drop
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from labs import watching
from labs.console import Say
from labs.dentries.bench import FORGETTING, Bench, Run, bench, run
from labs.dentries.figures import DentryFigures
from labs.dentries.observed import observed, tracing_ended_us
from labs.dentries.variants import Parameters, Variant, expected_cause
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident
from labs.sightings import Sightings

LAB = "negative-dentries"
_PATTERNS = ("snotexist", "session-")  # letters may be masked as hexadecimal digits


class PausePrediction(BaseModel):
    """How long (s) freeing the lab's names would take, predicted from earlier data, and how long it took."""

    model_config = ConfigDict(extra="forbid")

    predicted_s: float
    low_s: float
    high_s: float
    real_s: float
    error_ratio: float


class DentryReport(Report[DentryFigures]):
    """The report of one run.

    `time_to_incident_s` and `named_s` are from the first start. `named_s`: until an incident named the program and its
    names. `tracing_off_s`: from the last start until tracing was off again; None if it never was on.
    """

    named_s: float | None
    tracing_off_s: float | None
    pause: PausePrediction | None


def watch(product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say) -> DentryReport:
    """Run the lab under a running product and report both sets of figures. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        bench(variant, parameters, Path(folder), say) as made,
    ):
        (cgroup_id,) = watching.find_cgroups(product, [made.cgroup.key])
        subjects = [product.wait_for("this node", product.node_id, 30), cgroup_id]
        since_us = watching.now_us()
        with Sightings(product, subjects, since_us) as sightings:
            done = run(made, say)
        say("Waiting for the product's final verdict")
        expected = expected_cause(variant, parameters)
        said = watching.last_word(product, subjects, done.from_us, done.to_us, visited=1, node="host_runnable")
        lead_us = min(watching.RECORD_LEAD_US, done.from_us - since_us)
        node = product.recording(subjects[0], done.from_us - lead_us, done.to_us)
        ended_us = tracing_ended_us(node, done.ended_us)
        report = DentryReport(
            lab=LAB,
            variant=variant.value,
            parameters=parameters.model_dump(),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=done.figures,
            observed=observed(node, made.program, done.from_us, done.ended_us, done.pause),
            time_to_incident_s=seconds_to_incident(said.incidents, done.from_us),
            incident_urls=said.urls(product),
            named_s=_named_s(sightings, made, done.from_us),
            tracing_off_s=None if ended_us is None else round((ended_us - done.ended_us) / 1e6, 3),
            pause=_predicted(node, done),
        )
        if record_to is not None:
            labels = watching.labels(LAB, variant.value, expected, parameters, done.figures, done.from_us)
            if variant in FORGETTING:
                labels["also"] = "kernel/negative_dentry_growth"
            watching.record(product, subjects[0], done.from_us, done.to_us, labels, record_to)
        return report


def _named_s(sightings: Sightings, made: Bench, from_us: int) -> float | None:
    for sighting in sightings.before(None):
        text = json.dumps(sighting.incident)
        if made.program in text and any(one in text.lower() for one in _PATTERNS):
            return round((sighting.at_us - from_us) / 1e6, 3)
    return None


def _predicted(node: Recording, done: Run) -> PausePrediction | None:
    """Predict from what the product had stored when dropping began."""
    if done.pause is None or done.figures.dropped is None or done.figures.pause_s is None:
        return None
    before = snapshot_of(node, node.start_us, done.pause[0])
    # An unmount frees the lab's own names, a drop every unused dentry.
    negative = None if done.everything else done.figures.dropped
    found = dentry_drop.predict(before, negative)
    if found is None:
        return None
    real = done.figures.pause_s
    return PausePrediction(
        predicted_s=round(found.seconds.expected, 3),
        low_s=round(found.seconds.low, 3),
        high_s=round(found.seconds.high, 3),
        real_s=real,
        error_ratio=round(found.seconds.expected / real - 1, 3),
    )
