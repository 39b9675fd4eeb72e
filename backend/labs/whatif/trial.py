"""One parameter set: the fault under the running product, predictions from what it stored, then every fix for real."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jitterscope.diagnosis.areas.cpu.whatif.predict import predict, prepare
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.areas.cpu.whatif.types import Prediction
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from labs import coredns_gc
from labs.console import Say
from labs.coredns_gc import Run
from labs.errors import LabError
from labs.figures import Figures
from labs.observed import observed
from labs.product import Product
from labs.variants import Parameters, Variant
from labs.watched import record
from labs.whatif.judge import Cell, cells, grain, order, values_of
from labs.whatif.report import SetReport, describe, set_report
from labs.whatif.sets import FIXES, ParameterSet, changed, setting_with

_OVERHEAD_S = 12.0  # start, settling, and reading back, until the first run gives a better estimate


@dataclass
class Pace:
    """Estimates the remaining time from the runs so far."""

    seconds: list[float]  # the measured windows of all runs to come, in order
    done: int = 0
    spent_s: float = 0.0

    def left(self) -> str:
        overhead_s = self.spent_s / self.done if self.done else _OVERHEAD_S
        minutes = sum(one + overhead_s for one in self.seconds[self.done :]) / 60
        return f"run {self.done + 1} of {len(self.seconds)}, about {max(1, round(minutes))} min left"

    def one_more(self, started: float) -> None:
        """Record that a run has ended that began at `started` (monotonic seconds)."""
        self.spent_s += time.monotonic() - started - self.seconds[self.done]
        self.done += 1


def run_set(product: Product, one: ParameterSet, pace: Pace, record_to: Path | None, say: Say) -> SetReport:
    """Run one set. Raises LabError if there is no fault or recording; a fix that is not measured leaves empty cells."""
    say(f"{one.name}: {describe(one.parameters)}")
    fixes = {fix: parameters for fix in FIXES if (parameters := changed(one.parameters, fix)) is not None}
    began = time.monotonic()
    say(f"The fault ({pace.left()})")
    fault, stored = _watched(product, Variant.FAULT, one.parameters, _path(record_to, one, Variant.FAULT), say)
    predictions = predicted(stored, list(fixes))
    for fix, said in predictions.items():
        say(_in_short(fix, said))
    pace.one_more(began)
    outcomes: dict[Variant, Figures | None] = {}
    others = {Variant.FAULT.value: fault.measured.others_cpus}
    for fix, parameters in fixes.items():
        began = time.monotonic()
        say(f"{fix} ({pace.left()})")
        done = _tried(product, fix, parameters, _path(record_to, one, fix), say)
        outcomes[fix] = None if done is None else done.measured.figures
        if done is not None:
            others[fix.value] = done.measured.others_cpus
        pace.one_more(began)
    return compared(one, stored, predictions, fault.measured.figures, outcomes, others)


def predicted(stored: Recording, fixes: Sequence[Variant]) -> dict[Variant, Prediction]:
    """Predictions from the product's data alone, as a diagnosis sees them. Raises LabError if they have no limit."""
    trace = from_snapshot(snapshot_of(stored))
    if isinstance(trace, str):
        raise LabError(trace)
    if trace.setting.cpu_limit is None:
        raise LabError("The product recorded no CPU limit: see the collector's log.")
    prepared = prepare(trace)
    # The environment changes with a restart, and the lab measures what follows the restart.
    return {
        fix: predict(prepared, setting_with(trace.setting, fix), fresh_heap=fix in (Variant.GOGC, Variant.GOMAXPROCS))
        for fix in fixes
    }


def compared(
    one: ParameterSet,
    stored: Recording,
    predictions: Mapping[Variant, Prediction],
    fault: Figures,
    outcomes: Mapping[Variant, Figures | None],
    others_cpus: dict[str, float],
) -> SetReport:
    """Predictions, and what the lab measured of the fault and of each fix (None: not measured)."""
    seconds, grains = one.parameters.seconds, grain(one.parameters)
    measured = values_of(fault, seconds)
    found: list[Cell] = []
    for fix, said in predictions.items():
        figures = outcomes.get(fix)
        found += cells(fix.value, said, {} if figures is None else values_of(figures, seconds), measured, grains)
    server = next((one.key for one in stored.resources if one.kind == "dns_server"), "")
    recorded = values_of(observed(stored, server), seconds)
    notes = {fix.value: list(said.notes) for fix, said in predictions.items()}
    ordered = order(found, measured, grains)
    return set_report(one.name, one.parameters, (recorded, measured), found, ordered, others_cpus, notes)


def _in_short(fix: Variant, said: Prediction) -> str:
    share, throttled = said.slow_ratio, said.throttled_ms_per_min
    if share is None or throttled is None:
        return f"Predicted for {fix}: {said.cannot_tell or 'cannot tell'}"
    return (
        f"Predicted for {fix}: {throttled.expected:,.0f} ms/min throttled, "
        f"{100 * share.expected:.2f} % of queries over {SLOW_US / 1e3:g} ms"
    )


def _tried(product: Product, fix: Variant, parameters: Parameters, path: Path | None, say: Say) -> Run | None:
    """The same load with the fix in place; repeated once if the machine was too busy to measure."""
    for attempt in ("once more", "left out"):
        try:
            if path is not None:
                return _watched(product, fix, parameters, path, say)[0]
            # Nothing is left open, so there is nothing to calibrate: it runs exactly as the fault does.
            with (
                tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
                coredns_gc.bench(Variant.FAULT, parameters, Path(folder), say) as made,
            ):
                return coredns_gc.run(made, say)
        except LabError as error:
            say(f"{fix} was not measured ({error}): {attempt}")
    return None


def _watched(
    product: Product, variant: Variant, parameters: Parameters, path: Path | None, say: Say
) -> tuple[Run, Recording]:
    """A run, and what the product stored of its window."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        coredns_gc.bench(variant, parameters, Path(folder), say) as made,
    ):
        key = made.cgroup.key
        cgroup_id = product.wait_for(f"the cgroup {key}", lambda: product.cgroup_id(key), 30)
        done = coredns_gc.run(made, say)
        product.wait_until_stored(cgroup_id, "cpu_usage_us", done.measured.from_us, done.measured.to_us)
        stored = product.recording(cgroup_id, done.measured.from_us, done.measured.to_us)
        if path is not None:
            record(product, variant, done, cgroup_id, path)
        return done, stored


def _path(folder: Path | None, one: ParameterSet, variant: Variant) -> Path | None:
    if folder is None:
        return None
    return folder / f"{re.sub(r'[^A-Za-z0-9]+', '-', one.name)}-{variant.value}.jitterscope"
