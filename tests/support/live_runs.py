"""The plugin that chooses which live runs take place, and repeats disturbed ones."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

from tests.support import lab_plan

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "tests" / "fixtures" / "recordings"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects live runs whose turn it is not."""
    found = lab_plan.runs_of(items)
    now = lab_plan.turn(os.environ.get("JITTERSCOPE_LABS", ""), ROOT)
    if not found or now is None:
        return
    from jitterscope.recordings import file

    recorded = {file.load_labels(path)["expected"] for path in RECORDINGS.glob("*.jitterscope")}
    chosen = lab_plan.selected(list(found), now, recorded)
    left_out = {item for run, tests in found.items() if run not in chosen for item in tests}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
    if (terminal := config.pluginmanager.get_plugin("terminalreporter")) is not None:
        terminal.write_line(lab_plan.told(list(found), chosen, now))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """A live run has CPUs to itself, or is repeated."""
    mark = pyfuncitem.get_closest_marker("live")
    if mark is None:
        return None
    from tests.support.neighbours import until_undisturbed

    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    until_undisturbed(lambda: pyfuncitem.obj(**arguments), mark.kwargs["cpus"])
    return True
