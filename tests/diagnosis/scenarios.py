"""Every scenario of the causes, built once per test run."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from functools import cache

from jitterscope.diagnosis import scenarios
from jitterscope.diagnosis.core.engine import Diagnosis, diagnose
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.scenario import Scenario


def all_scenarios() -> list[Scenario]:
    found: list[Scenario] = []
    for module in pkgutil.walk_packages(scenarios.__path__, scenarios.__name__ + "."):
        if module.name.endswith("_scenario"):
            found.extend(importlib.import_module(module.name).SCENARIOS)
    return found


SCENARIOS = {scenario.name: scenario for scenario in all_scenarios()}


@cache
def built(name: str) -> Snapshot:
    """Kept to the end, so that the garbage collector does not scan its millions of objects again and again."""
    snapshot = SCENARIOS[name].build()
    gc.freeze()
    return snapshot


@cache
def diagnosed(name: str) -> Diagnosis:
    return diagnose(built(name))
