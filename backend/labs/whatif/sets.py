"""Parameter sets of `--whatif`: the built-in ones, a file of the user's own, or the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from jitterscope.diagnosis.areas.cpu.whatif.types import Setting
from labs.errors import LabError
from labs.variants import Parameters, Variant, parameters_of

FIXES = (Variant.LIMIT, Variant.GOGC, Variant.GOMAXPROCS, Variant.BURST, Variant.REPLICAS)
BUILT_IN = "default"
_GOGC_LIMIT = "3GiB"
_GOGC_LIMIT_BYTES = 3 << 30
_REPLICAS = 2


@dataclass(frozen=True, slots=True)
class ParameterSet:
    """The fault to record; each fix changes one thing in it."""

    name: str
    parameters: Parameters


# Marking takes 0.7 to 1.2 ms of CPU per MB of live heap (310 bytes per name), up to twice that if idle CPUs join in;
# 1,000 queries/s take about 23 ms of CPU per period of 100 ms. The name says what else suffices besides limit and GOGC.
_BUILT_IN: dict[str, dict[str, Any]] = {
    # A cycle needs 150 to 400 ms, three quotas or more: burst adds one. One CPU alone uses two quotas per period.
    "neither burst nor GOMAXPROCS": {"quota_us": 50_000, "records": 500_000, "qps": 1_000},
    # One CPU uses at most 100 ms per period, below the quota. A cycle of 250 to 600 ms keeps two CPUs busy for some
    # periods: 200 ms each, and burst helps with the first.
    "GOMAXPROCS": {"quota_us": 120_000, "records": 800_000, "qps": 1_300},
    # A cycle of 45 to 60 ms beside 14 ms of queries is more than one quota, but not more than two, and one CPU finishes
    # it within a period.
    "burst": {"quota_us": 40_000, "records": 220_000, "qps": 700},
}


def chosen(sets: str | None, given: dict[str, Any]) -> list[ParameterSet]:
    """What to run: one set of `given` parameters, or those that `sets` names; None without parameters: built-in sets.

    `seconds` can be given for all sets. Raises LabError for what cannot be read or makes no fault to fix.
    """
    others = {name: value for name, value in given.items() if name != "seconds"}
    if sets is None and others:
        return [_checked(ParameterSet("command line", parameters_of(Variant.FAULT, given)))]
    if others:
        raise LabError(f"--sets brings its own parameters; leave out {', '.join(sorted(others))}.")
    if sets in (None, BUILT_IN):
        content: list[object] = [{"name": name, **values} for name, values in _BUILT_IN.items()]
    else:
        content = _read(Path(str(sets)))
    found = [_checked(_of(number, values, given)) for number, values in enumerate(content, 1)]
    if len({one.name for one in found}) < len(found):
        raise LabError("Two parameter sets have the same name.")
    return found


def changed(parameters: Parameters, fix: Variant) -> Parameters | None:
    """The fault's parameters with a fix in place; None if it changes nothing."""
    changes: dict[Variant, dict[str, Any]] = {
        Variant.LIMIT: {"quota_us": -1, "burst_us": 0},
        Variant.GOGC: {"gogc": "off", "gomemlimit": _GOGC_LIMIT},
        Variant.GOMAXPROCS: {"gomaxprocs": 1},
        Variant.BURST: {"burst_us": parameters.quota_us},
        Variant.REPLICAS: {
            "qps": None if parameters.qps is None else parameters.qps / _REPLICAS,
            "burst_qps": None if parameters.burst_qps is None else parameters.burst_qps / _REPLICAS,
        },
    }
    result = parameters.model_copy(update=changes[fix])
    return None if result == parameters else result


def setting_with(setting: Setting, fix: Variant) -> Setting:
    """The recorded setting with a fix in place, as `changed` changes the parameters."""
    match fix:
        case Variant.LIMIT:
            return replace(setting, cpu_limit=None, burst_us=0)
        case Variant.GOGC:
            return replace(setting, gogc=None, gomemlimit_bytes=_GOGC_LIMIT_BYTES)
        case Variant.GOMAXPROCS:
            return replace(setting, gomaxprocs=1)
        case Variant.BURST:
            return replace(setting, burst_us=round(setting.quota_us or 0))
        case Variant.REPLICAS:
            return replace(setting, replicas=float(_REPLICAS))
        case _:
            raise ValueError(f"{fix} is not a fix")


def _of(number: int, values: object, given: dict[str, Any]) -> ParameterSet:
    if not isinstance(values, dict):
        raise LabError(f"Parameter set {number} is not a JSON object.")
    name = str(values.get("name", f"set {number}"))
    own = {key: value for key, value in values.items() if key != "name"}
    try:
        return ParameterSet(name, parameters_of(Variant.FAULT, {**own, **given}))
    except ValidationError as error:
        said = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise LabError(f"Parameter set {number} ({name}): {said}") from error


def _read(path: Path) -> list[object]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise LabError(f"--sets {path} cannot be read: {error}. Name a JSON file, or `{BUILT_IN}`.") from error
    if not isinstance(content, list) or not content:
        raise LabError(f'--sets {path}: want a JSON list of objects such as {{"quota_us": 50000, "records": 500000}}.')
    return content


def _checked(one: ParameterSet) -> ParameterSet:
    if one.parameters.quota_us is None or one.parameters.quota_us <= 0:
        raise LabError(f"Parameter set {one.name}: without a CPU limit there is nothing to fix; set quota_us.")
    return one
