"""Where nothing may be skipped (JITTERSCOPE_NO_SKIPS=1, as in CI), a skip is a failure that says so."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("JITTERSCOPE_NO_SKIPS") == "1":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but nothing may be skipped here: {call.excinfo}"
    return report
