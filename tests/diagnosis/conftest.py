"""Tests of one cause and its scenarios share a process, and all but the first scenario of each are slow.

The reason: simulating a scenario costs more than judging it.
"""

from __future__ import annotations

import pytest

from jitterscope.diagnosis.core.registry import all_causes
from tests.diagnosis.scenarios import SCENARIOS

_FIRST = {name.partition("/")[0]: name for name in reversed(SCENARIOS)}
# CPU and DNS are simulated; series of memory, kernel, and pods are made up, which costs nothing.
_MADE_UP = {cause.partition("/")[2] for cause in all_causes() if cause.startswith(("memory/", "kernel/", "pods/"))}
SIMULATED = {name for name in SCENARIOS if name.partition("/")[0] not in _MADE_UP} - set(_FIRST.values())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and (group := _about(item)) is not None:
            item.add_marker(pytest.mark.xdist_group(group))
            if SIMULATED.intersection(_words(item)):
                item.add_marker(pytest.mark.slow)


def _about(item: pytest.Function) -> str | None:
    """ "slow_upstream" of the cause "dns/slow_upstream" or the scenario "slow_upstream/case 2"; None: of neither."""
    for value in _words(item):
        if value in SCENARIOS:
            return value.partition("/")[0]
        if value in all_causes():
            return value.partition("/")[2]
    return None


def _words(item: pytest.Function) -> list[str]:
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return [one for one in parameters if isinstance(one, str)]
