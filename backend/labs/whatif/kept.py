"""Runs kept by `--whatif --record-to`, judged again by the current models."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from jitterscope.recordings import file
from jitterscope.recordings.merge import BadRecording
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import cut
from labs.errors import LabError
from labs.figures import Figures
from labs.variants import Parameters, Variant
from labs.watched import LAB
from labs.whatif.report import SetReport, WhatIfReport, whole
from labs.whatif.sets import FIXES, ParameterSet, changed
from labs.whatif.trial import compared, predicted

_FAULT = f"-{Variant.FAULT}.jitterscope"


def judge_again(folder: Path) -> WhatIfReport:
    """Judge every set in the folder, by file name. Raises LabError if there is none, or if one cannot be read."""
    faults = sorted(folder.glob(f"*{_FAULT}"))
    if not faults:
        raise LabError(f"{folder} has no run kept by --whatif --record-to: no file ends with {_FAULT}.")
    return whole(LAB, [_set(path) for path in faults])


def _set(path: Path) -> SetReport:
    stored, parameters, fault = _run(path)
    others = {Variant.FAULT.value: _others_cpus(stored)}
    one = ParameterSet(path.name.removesuffix(_FAULT), parameters)
    fixes = [fix for fix in FIXES if changed(parameters, fix) is not None]
    kept = {fix: path.with_name(path.name.replace(_FAULT, f"-{fix}.jitterscope")) for fix in fixes}
    outcomes: dict[Variant, Figures | None] = {}
    for fix, found in kept.items():
        if found.exists():
            tried, _, outcomes[fix] = _run(found)
            others[fix.value] = _others_cpus(tried)
    return compared(one, stored, predicted(stored, fixes), fault, outcomes, others)


def _others_cpus(stored: Recording) -> float:
    return float(stored.labels.get("others_cpus", "nan"))


def _run(path: Path) -> tuple[Recording, Parameters, Figures]:
    """What the product stored in the measured window, and what the lab measured in it."""
    try:
        recording = file.load(path)
        labels = recording.labels
        parameters = Parameters.model_validate_json(labels["parameters"])
        figures = Figures.model_validate_json(labels["measured"])
        return cut(recording, int(labels["measured_from_us"]), None), parameters, figures
    except (BadRecording, OSError, KeyError, ValidationError) as error:
        raise LabError(f"{path} is not a run kept by --whatif --record-to: {error}") from error
