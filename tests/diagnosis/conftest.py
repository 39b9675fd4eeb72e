"""Tests of one cause and its scenarios share a process: simulating a scenario costs more than judging it."""

from __future__ import annotations

import pytest

from jitterscope.diagnosis.core.registry import all_causes
from tests.diagnosis.scenarios import SCENARIOS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and (group := _about(item)) is not None:
            item.add_marker(pytest.mark.xdist_group(group))


def _about(item: pytest.Function) -> str | None:
    """ "slow_upstream" of the cause "dns/slow_upstream" or the scenario "slow_upstream/case 2"; None: of neither."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    for value in (one for one in parameters if isinstance(one, str)):
        if value in SCENARIOS:
            return value.partition("/")[0]
        if value in all_causes():
            return value.partition("/")[2]
    return None
