"""If nothing may be skipped (JITTERSCOPE_NO_SKIPS=1, as in CI), a skip is a failure that says so.

A failure is explained when it happens: half an hour of labs might follow, or the run might be cut off.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator

import hypothesis
import pytest

from tests.support import live_runs

LAST_CHARACTERS = 1500


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("JITTERSCOPE_NO_SKIPS") == "1":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but nothing may be skipped here: {call.excinfo}"
    return report


class SayAtOnce:
    """Writes the end of a failure's text as soon as it is known."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(f"{report.nodeid} failed ({report.when}):\n" + report.longreprtext[-LAST_CHARACTERS:])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadgroup`, run a file's tests in one process unless it says otherwise, as they share setup.

    Raises UsageError if tests share an ID: pytest-xdist would run only one of them.
    """
    ids = Counter(item.nodeid for item in items)
    if shared := [name for name, count in ids.items() if count > 1]:
        raise pytest.UsageError(f"several tests have the ID {shared[0]}: give each one its own")
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


# Simulations make millions of long-lived objects: with Python's default threshold of 700, two thirds of their time went
# into looking for cycles among them.
gc.set_threshold(100_000, 20, 20)

# How long an example takes means nothing on a shared machine.
hypothesis.settings.register_profile("shared machine", parent=hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("shared machine")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SayAtOnce(config), "say-at-once")
    config.pluginmanager.register(live_runs, "live-runs")
    config.addinivalue_line(
        "markers", "slow: takes seconds of CPU or of waiting; make test-fast leaves it to make test"
    )
    config.addinivalue_line(
        "markers", "live(seconds, cause, cpus, together, by_turn): a live lab run, see tests/support/lab_plan.py"
    )
