"""Every scenario of the causes, built once a test run."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from jitterscope.diagnosis import scenarios
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
    return SCENARIOS[name].build()
