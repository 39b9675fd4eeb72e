"""Registry and engine: what they reject, how they rank, how rivals are judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.registry import RegistryError, all_causes, check
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US
from tests.diagnosis.scenarios import SCENARIOS, built
from tests.support.work import calls_of

EMPTY = Snapshot(EPOCH_US, 600, ResourceView(1, "cgroup", "/a", "/a"), ResourceView(0, "node", "n", "n"))


def cause(name: str, result: Found | NotFound | NotEnoughData, rivals: tuple[str, ...] = ()) -> Cause:
    return Cause(name, f"title of {name}", "s", "m", (), rivals, lambda _: result, lambda *_: [], ("f",), ("r",))


def found(name: str, score: float) -> Found:
    return Found(
        cause=name, score=score, confidence="high", severity="warning", title=f"{name} it is", summary="s",
        onset_us=1, last_us=2, impact={}, evidence=[],
    )  # fmt: skip


def test_every_cause_is_where_its_id_says() -> None:
    assert {"cpu/gc_throttling", "cpu/limit_too_low", "cpu/request_burst", "cpu/periodic_burst",
            "cpu/memory_limit_gc_spiral"} <= set(all_causes())  # fmt: skip


def test_the_registry_refuses_duplicates_and_unknown_rivals() -> None:
    one = cause("a/b", NotFound(cause="a/b", reason="r"))
    with pytest.raises(RegistryError, match="two causes have the id 'a/b'"):
        check([one, one])
    with pytest.raises(RegistryError, match="rivals that do not exist: c/d"):
        check([replace(one, rivals=("c/d",))])
    with pytest.raises(RegistryError, match="a/b"):
        check([replace(one, rivals=("a/b",))])
    with pytest.raises(RegistryError, match="what is no rival of it: c/d"):
        check([replace(one, yields_to=("c/d",))])


def test_of_rivals_the_better_speaks_and_lists_the_others() -> None:
    causes = [
        cause("x/one", found("x/one", 0.5), ("x/two", "x/three", "x/four")),
        cause("x/two", found("x/two", 0.9), ("x/one", "x/three", "x/four")),
        cause("x/three", NotFound(cause="x/three", reason="no 3", numbers={"n": 3.0})),
        cause("x/four", NotEnoughData(cause="x/four", missing=["dns_queries"], reason="needs m")),
        cause("y/other", found("y/other", 0.1)),
    ]
    diagnosis = diagnose(EMPTY, causes)
    assert [item.cause for item in diagnosis.findings] == ["x/two", "y/other"]
    judged = {rival.cause: rival for rival in diagnosis.findings[0].rivals}
    assert {name: rival.status for name, rival in judged.items()} == {
        "x/one": "not_ruled_out", "x/three": "ruled_out", "x/four": "not_enough_data"
    }  # fmt: skip
    assert judged["x/three"].numbers == {"n": 3.0}
    assert "x/one it is" in judged["x/one"].reason
    assert [item.cause for item in diagnosis.not_enough_data] == ["x/four"]


def test_what_is_inferred_yields_to_what_was_measured() -> None:
    inferred = replace(cause("x/inferred", found("x/inferred", 0.9), ("x/measured",)), yields_to=("x/measured",))
    measured = found("x/measured", 0.5)
    assert [one.cause for one in diagnose(EMPTY, [inferred, cause("x/measured", measured)]).findings] == ["x/measured"]
    # A harmless finding of the other takes nothing away.
    harmless = cause("x/measured", measured.model_copy(update={"severity": None}))
    assert [one.cause for one in diagnose(EMPTY, [inferred, harmless]).findings] == ["x/inferred"]


def test_a_harmless_finding_hides_no_harmful_rival() -> None:
    """Only a finding with harm opens an incident: it must not vanish behind a risk with a higher score."""
    risk = found("x/risk", 0.9).model_copy(update={"severity": None, "harm": "none"})
    causes = [cause("x/risk", risk, ("x/harm",)), cause("x/harm", found("x/harm", 0.5))]
    [first] = diagnose(EMPTY, causes).findings
    assert (first.cause, first.severity) == ("x/harm", "warning")
    # The rival is judged on the finding that lists it.
    causes = [cause("x/risk", risk), cause("x/harm", found("x/harm", 0.5), ("x/risk",))]
    [first] = diagnose(EMPTY, causes).findings
    [rival] = first.rivals
    assert (rival.status, rival.reason) == ("not_ruled_out", "It is there too, without measured harm: x/risk it is.")


def test_an_empty_snapshot_lacks_everything_and_breaks_nothing() -> None:
    diagnosis = diagnose(EMPTY)
    assert diagnosis.findings == []
    assert {item.cause for item in diagnosis.not_enough_data} == {
        one.id for one in all_causes().values() if "cgroup" in one.subjects
    }


def test_what_is_missing_is_named_with_what_it_needs() -> None:
    snapshot = replace(EMPTY, unavailable={"cgroup_cpu": "no cgroup file system (needs a mount of /sys/fs/cgroup)"})
    short = {one.cause: one.reason for one in diagnose(snapshot).not_enough_data}
    assert "needs a mount" in short["cpu/limit_too_low"]


def test_a_cause_judges_the_subjects_that_it_is_about() -> None:
    node = replace(EMPTY.node, kind="node")
    causes = [
        cause("x/cgroup", found("x/cgroup", 0.5), ("x/node",)),
        replace(cause("x/node", found("x/node", 0.9), ("x/cgroup", "x/both")), subjects=("node",)),
        replace(cause("x/both", NotFound(cause="x/both", reason="no 1")), subjects=("node", "cgroup")),
    ]
    [of_node] = diagnose(replace(EMPTY, subject=node), causes).findings
    assert [(one.cause, one.status) for one in of_node.rivals] == [
        ("x/cgroup", "not_enough_data"), ("x/both", "ruled_out"),
    ]  # fmt: skip
    assert of_node.cause == "x/node"
    assert "on a cgroup" in of_node.rivals[0].reason
    assert [one.cause for one in diagnose(EMPTY, causes).findings] == ["x/cgroup"]


@pytest.mark.parametrize("ticks", [0, 1, 2, 5])
def test_tiny_windows(ticks: int) -> None:
    whole = built("gc_throttling/case 1")

    def cut(view: ResourceView) -> ResourceView:
        series = {name: values[:ticks] for name, values in view.series.items()}
        return replace(view, series=series, distributions={}, queries=None, events=())

    snapshot = replace(
        whole, ticks=ticks, subject=cut(whole.subject), processes=tuple(map(cut, whole.processes)),
        dns_servers=tuple(map(cut, whole.dns_servers)),
    )  # fmt: skip
    assert diagnose(snapshot).findings == []


def test_garbage_facts_break_nothing() -> None:
    whole = built("gc_throttling/case 1")

    def spoil(view: ResourceView) -> ResourceView:
        return replace(view, facts=tuple(replace(fact, value="x%$") for fact in view.facts))

    snapshot = replace(
        whole, node=spoil(whole.node), processes=tuple(map(spoil, whole.processes)),
        dns_servers=tuple(map(spoil, whole.dns_servers)),
    )  # fmt: skip
    assert [item.cause for item in diagnose(snapshot).findings] == ["cpu/gc_throttling"]
    # Throttled by an unreadable limit: no cause of it can be found.
    told = diagnose(replace(snapshot, subject=spoil(whole.subject))).findings
    assert [item.cause for item in told] == ["unexplained/slow_answers"]
    assert "its CPU limit throttled it" in told[0].title


def test_an_ancestors_quota_counts() -> None:
    """The limit is on the pod: its cgroup is throttled, the container inside has no limit."""
    whole = built("gc_throttling/case 1")
    container = replace(whole.subject, facts=(), series={"cpu_usage_us": whole.subject.series["cpu_usage_us"]})
    pod = replace(whole.subject, id=9, key="/pod", name="/pod")
    finding = diagnose(replace(whole, subject=container, ancestors=(pod,))).findings[0]
    assert finding.cause == "cpu/gc_throttling"
    assert any(ref.resource_id == 9 for item in finding.evidence for ref in item.series)


def _under(whole: Snapshot, container_us: int, pod_us: int, *, throttles: bool) -> Snapshot:
    """The throttled cgroup is a pod; its container has a limit of its own, which is never reached."""
    throttled = whole.subject.series["cpu_throttled_periods"] * throttles
    pod = _limited(replace(whole.subject, id=9, key="/pod", name="/pod"), pod_us)
    pod = replace(pod, series={**pod.series, "cpu_throttled_periods": throttled})
    quiet = {name: values * ("throttled" not in name) for name, values in whole.subject.series.items()}
    container = _limited(replace(whole.subject, series=quiet), container_us)
    return replace(whole, subject=container, ancestors=(pod,))


def _limited(view: ResourceView, quota_us: int) -> ResourceView:
    kept = tuple(fact for fact in view.facts if fact.name != "cpu.quota_us")
    return replace(view, facts=(*kept, FactValue("cpu.quota_us", str(quota_us), EPOCH_US)))


def test_the_limit_that_throttles_counts_however_far_up() -> None:
    whole = built("gc_throttling/case 1")
    assert read_cpu(_under(whole, 200_000, 50_000, throttles=True)).owner.id == 9
    snapshot = _under(whole, 200_000, 50_000, throttles=True)
    kubernetes = (FactValue("workload.manager", "kubernetes", EPOCH_US),)
    subject = replace(snapshot.subject, facts=(*snapshot.subject.facts, *kubernetes))
    finding = diagnose(replace(snapshot, subject=subject)).findings[0]
    assert finding.cause == "cpu/gc_throttling"
    # The container's limit of 2 CPUs is not the one to raise, and would be lowered.
    raised = next(fix for fix in finding.fixes if fix.id == "raise_cpu_limit")
    assert [patch.text.endswith("/pod/cpu.max") for patch in raised.patches] == [True]
    # A limit above it that is reached, too: with others in the pod.
    assert read_cpu(_under(whole, 40_000, 50_000, throttles=True)).owner.id == 9
    # Without throttling, the smallest; of equals, the nearest.
    assert read_cpu(_under(whole, 200_000, 50_000, throttles=False)).owner.id == 9
    assert read_cpu(_under(whole, 50_000, 50_000, throttles=False)).owner.id == whole.subject.id
    both = replace(whole, ancestors=(replace(whole.subject, id=9),))
    assert read_cpu(both).owner.id == whole.subject.id


def test_gaps_stay_gaps() -> None:
    """Half of the ticks are missing: no figure may come from filling them with zeros."""
    whole = built("gc_throttling/case 1")
    gone = np.arange(whole.ticks) % 2 == 0

    def thin(view: ResourceView) -> ResourceView:
        return replace(view, series={name: np.where(gone, np.nan, values) for name, values in view.series.items()})

    full, half = diagnose(whole).findings[0], diagnose(replace(whole, subject=thin(whole.subject)))
    for finding in half.findings:
        assert finding.impact["cpu_mean"] == pytest.approx(full.impact["cpu_mean"], rel=0.15)


def test_a_diagnosis_of_two_minutes_is_little_work() -> None:
    from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
    from jitterscope.diagnosis.scenarios.cpu.workload import Workload

    snapshot = simulate(Workload(seconds=120, qps=2000, query_us=100, seed=3)).snapshot
    diagnose(snapshot)
    fresh = replace(snapshot)  # a new object, so that nothing is cached
    # A third of it judges; the rest replays the window under six settings to predict the fixes.
    assert calls_of(lambda: diagnose(fresh)) < 150_000


def test_names_of_scenarios_are_unique() -> None:
    assert len(SCENARIOS) == len({scenario.name for scenario in SCENARIOS.values()})
