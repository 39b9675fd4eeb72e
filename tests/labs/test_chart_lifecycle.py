"""The chart on a real Kubernetes: every request is answered while it changes, nothing is lost, nothing stays."""

from __future__ import annotations

import os

import pytest

from jitterscope.settings import REPOSITORY
from labs.kubernetes import lifecycle, trial
from tests.support.lab_plan import live
from tests.support.said import say


@pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
@pytest.mark.timeout(2400)
@live(300, lifecycle.DEMO_CAUSE, by_turn=False)
def test_the_chart_loses_nothing_and_leaves_nothing() -> None:
    report = lifecycle.run(say)
    say(report.model_dump_json())
    # Ending API pods accept connections until none are sent to them, and answer what they have accepted.
    assert not {phase.phase: phase.failed for phase in report.phases if phase.failed}
    # The incident may be there already.
    assert all(phase.answered > phase.seconds for phase in report.phases if phase.seconds >= 1)
    for one in report.stored:
        assert (one.stored_batches, one.missing, one.wrong) == (one.batches, 0, 0), one
    assert (report.collector_dropped, report.collector_batches > 10) == (0, True)
    brought = {one.split()[0] for one in report.added}
    assert brought == {"HorizontalPodAutoscaler", "HTTPRoute", "Ingress", "NetworkPolicy", "ServiceMonitor"}
    assert set(report.left_objects) <= lifecycle.LEFT_OBJECTS
    assert set(report.left_on_node) <= lifecycle.LEFT_ON_NODE
    assert not report.after_removal


def test_the_docs_say_how_to_remove_what_stays() -> None:
    text = (REPOSITORY / "docs" / "deploy.md").read_text()
    for command in trial.REMOVAL:
        assert f"`{command}`" in text
