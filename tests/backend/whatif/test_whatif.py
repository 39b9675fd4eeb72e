"""What-if over REST: correct, scoped, explained, and fast enough for a slider."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event

from jitterscope import counted, db
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.recordings.model import Recording
from jitterscope.whatif import service as whatif_service
from jitterscope.whatif.schemas import WhatIf, WhatIfFigure

pytestmark = pytest.mark.slow

MINUTE_US = 60_000_000


@pytest.fixture(autouse=True)
def forget() -> None:
    whatif_service.forget()


@pytest.fixture
def window(service: Any, gc_fault: Recording) -> dict[str, int]:
    """A resource and a minute of its fault."""
    now_us = time.time_ns() // 1000
    ends_us = now_us - now_us % 100_000
    return {"resource_id": service.feed(gc_fault, ends_us=ends_us), "from": ends_us - MINUTE_US, "to": ends_us}


def ask(service: Any, window: dict[str, int], *settings: dict[str, Any], **more: Any) -> WhatIf:
    return WhatIf.model_validate(service.post("/whatif/cpu", {**window, "settings": list(settings), **more}))


def said_of(figures: list[WhatIfFigure], name: str) -> Interval:
    """What is predicted for a figure."""
    interval = next(one.interval for one in figures if one.id == name)
    assert interval is not None, name
    return interval


def known(said: WhatIf, name: str) -> float:
    """What was recorded for a figure."""
    value = next(one.value for one in said.figures if one.id == name)
    assert value is not None, name
    return value


def test_recorded_and_predicted(service: Any, window: dict[str, int], gc_fault: Recording) -> None:
    said = ask(
        service, window, {}, {"cpu_limit": None}, {"cpu_limit": 2.0}, {"gomaxprocs": 1}, {"burst_us": 50_000},
        {"replicas": 2},
    )  # fmt: skip
    assert said.settings == {
        "cpu_limit": 0.5, "period_us": 100_000, "burst_us": 0, "gomaxprocs": 2, "gogc": 100, "gomemlimit_bytes": None,
        "replicas": 1,
    }  # fmt: skip
    cgroup = gc_fault.resources[gc_fault.subject]
    throttled = known(said, "throttled_ms_per_min")
    assert throttled == pytest.approx(float(cgroup.series["cpu_throttled_us"].sum()) / 1000)
    assert known(said, "queries") == pytest.approx(60_000, rel=0.02)
    assert 0.001 < known(said, "slow_ratio") < 0.1
    same, unlimited, more, one_thread, burst, shared = said.tried
    replayed = said_of(same.figures, "throttled_ms_per_min")
    assert replayed.low <= throttled <= replayed.high
    for helps in (unlimited, more):
        assert said_of(helps.figures, "throttled_ms_per_min").expected == 0
    assert unlimited.settings["cpu_limit"] is None
    assert more.settings["gomaxprocs"] == 2, "what is left out stays as recorded"
    for weak in (one_thread, burst):
        assert said_of(weak.figures, "throttled_ms_per_min").expected > 0
    assert shared.settings["replicas"] == 2
    for name in ("throttled_ms_per_min", "slow_ratio", "gc_cycles_per_min"):
        half = said_of(shared.figures, name)
        assert 0 < half.low <= half.expected < 0.7 * said_of(same.figures, name).expected, name
    assert said.search is None
    assert all(one.timeline is None for one in said.tried)


def test_the_simulated_timeline_lies_on_the_recorded_one(service: Any, window: dict[str, int]) -> None:
    said = ask(service, window, {"cpu_limit": 1.0}, timeline=True, points=300)
    recorded, simulated = said.timeline, said.tried[0].timeline
    assert recorded is not None
    assert simulated is not None
    assert simulated.t_us == recorded.t_us
    assert len(recorded.t_us) == 300
    assert (recorded.t_us[0], recorded.step_us) == (window["from"], 200_000)
    assert [(one.id, len(one.values)) for one in simulated.lines] == [
        ("cpu_ratio", 300), ("throttled_us", 300), ("latency_max_us", 300),
    ]  # fmt: skip
    assert max(one for one in recorded.lines[2].values if one is not None) > 20_000
    assert recorded.spans


def test_the_least_that_is_enough(service: Any, window: dict[str, int]) -> None:
    said = ask(service, window, search={"metric": "slow_ratio", "at_most": 0.001})
    assert said.search is not None
    found = {one.control: one for one in said.search}
    assert set(found) == {"cpu_limit", "burst_us", "gomaxprocs", "replicas"}
    limit = found["cpu_limit"]
    assert limit.value is not None
    assert 0.5 < limit.value <= 2.0
    assert limit.tried is not None
    assert limit.tried.settings["cpu_limit"] == limit.value
    assert said_of(limit.tried.figures, "slow_ratio").high <= 0.001
    assert found["gomaxprocs"].value is None, "half a CPU of limit is less than one thread can use"
    assert "GOMAXPROCS=1" in found["gomaxprocs"].sentence
    assert found["replicas"].value is None, "a cycle stalls any replica, however rare it is"
    assert "even with 20 times as many replicas" in found["replicas"].sentence


def test_a_process_stands_for_its_cgroup(service: Any, window: dict[str, int]) -> None:
    process = service.get("/resources", kind="process")["items"][0]["id"]
    assert ask(service, {**window, "resource_id": process}).resource_id == window["resource_id"]


def test_time_without_data_dilutes_no_rate(service: Any, window: dict[str, int]) -> None:
    wide = {**window, "from": window["from"] - 5 * MINUTE_US}
    narrow_said, wide_said = (ask(service, one, {}) for one in (window, wide))
    narrow, padded = narrow_said.tried[0].figures, wide_said.tried[0].figures
    assert wide_said.to_us - wide_said.from_us == narrow_said.to_us - narrow_said.from_us + 5 * MINUTE_US
    assert said_of(narrow, "throttled_ms_per_min").expected > 0
    for name in ("throttled_ms_per_min", "gc_cycles_per_min"):
        assert said_of(padded, name) == said_of(narrow, name)


def test_the_newest_minutes_unless_told_otherwise(service: Any, window: dict[str, int]) -> None:
    said = ask(service, {"resource_id": window["resource_id"]})
    assert said.to_us - said.from_us == 10 * MINUTE_US
    assert any("CPU use was recorded for" in note for note in said.notes)
    iso = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(window["from"] / 1e6))
    assert abs(ask(service, {**window, "from": iso}).from_us - window["from"]) < 1_000_000  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"settings": [{"cpu_limit": 0}]}, "invalid-setting"),
        ({"settings": [{"cpu_limit": -1}]}, "invalid-setting"),
        ({"settings": [{"cpu_limit": 0.001}]}, "invalid-setting"),
        ({"settings": [{}, {"burst_us": 60_000}]}, "invalid-setting"),
        ({"settings": [{"gomaxprocs": 0}]}, "invalid-setting"),
        ({"settings": [{"replicas": 0.5}]}, "invalid-setting"),
        ({"settings": [{"replicas": 21}]}, "invalid-setting"),
        ({"settings": [{"quota": 5}]}, "invalid-setting"),
        ({"settings": [{}] * 17}, "invalid-request"),
        ({"points": 1}, "invalid-request"),
        ({"to": 5}, "invalid-window"),
        ({"from": "yesterday"}, "invalid-time"),
        ({"from": 0}, "invalid-window"),
        ({"search": {"metric": "beauty", "at_most": 1}}, "invalid-setting"),
    ],
)
def test_what_cannot_be_asked(service: Any, window: dict[str, int], change: dict[str, Any], kind: str) -> None:
    told = service.post("/whatif/cpu", {**window, **change}, status=422)
    assert told["type"] == f"urn:jitterscope:problem:{kind}"
    if kind.endswith(("request", "setting")):
        assert told["errors"][0]["location"].startswith("body.")


def test_a_lower_limit_takes_the_burst_with_it(service: Any, gc_fault: Recording) -> None:
    """The kernel allows no more burst than quota; users who move the limit need not know."""
    cgroup = gc_fault.resources[gc_fault.subject]
    facts = tuple(replace(f, value="50000") if f.name == "cpu.burst_us" else f for f in cgroup.facts)
    resources = [replace(one, facts=facts) if one is cgroup else one for one in gc_fault.resources]
    resource_id = service.feed(replace(gc_fault, resources=tuple(resources)))
    said = ask(service, {"resource_id": resource_id}, {"cpu_limit": 0.2})
    assert said.settings["burst_us"] == 50_000
    assert said.tried[0].settings["burst_us"] == 20_000


def test_without_data_it_says_so(service: Any, window: dict[str, int]) -> None:
    before = {**window, "from": window["from"] - 120 * MINUTE_US, "to": window["from"] - 110 * MINUTE_US}
    said = ask(service, before, {})
    assert (said.tried, said.figures) == ([], [])
    assert said.cannot_tell
    node = service.get("/resources", kind="node")["items"][0]["id"]
    assert service.post("/whatif/cpu", {"resource_id": node}, status=422)["type"].endswith("no-cgroup")
    service.post("/whatif/cpu", {"resource_id": 999_999_999}, status=404)


def test_nobody_elses(service: Any, window: dict[str, int], client: Any, other_organization: Any) -> None:
    """Even if the window was just read for its owner."""
    ask(service, window)
    told = client.post("/api/v1/whatif/cpu", json=window, headers=other_organization.headers)
    assert told.status_code == 404


def test_reading_needs_a_scope(service: Any, window: dict[str, int], client: Any, organization: Any) -> None:
    assert client.post("/api/v1/whatif/cpu", json=window, headers=organization.ingest_headers).status_code in (401, 403)


def test_a_slider_reads_the_data_once(service: Any, gc_fault: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten minutes of 100 ms ticks with 600,000 queries."""
    now_us = time.time_ns() // 1000
    ends_us = now_us - now_us % 100_000
    for minute in range(10):
        resource_id = service.feed(gc_fault, ends_us=ends_us - minute * MINUTE_US)
    window = {"resource_id": resource_id, "from": ends_us - 10 * MINUTE_US, "to": ends_us}
    statements: list[str] = []

    def note(*given: Any) -> None:
        statements.append(str(given[2]))

    arriving = counted.arriving

    def streamed(session: Any, statement: str, *given: Any, **more: Any) -> Any:
        statements.append(statement)
        return arriving(session, statement, *given, **more)

    monkeypatch.setattr(counted, "arriving", streamed)
    event.listen(db.engine(), "before_cursor_execute", note)
    try:
        first = service.post("/whatif/cpu", {**window, "settings": [{"cpu_limit": 0.6}], "timeline": True})
        assert any("ticks" in one or "series" in one for one in statements)
        statements.clear()
        for step in range(5):
            service.post("/whatif/cpu", {**window, "settings": [{"cpu_limit": 0.5 + step / 10}], "timeline": True})
    finally:
        event.remove(db.engine(), "before_cursor_execute", note)
    assert next(one["value"] for one in first["figures"] if one["id"] == "seconds") == pytest.approx(600)
    assert not [one for one in statements if "series" in one or "queries" in one], "the window is read once"


def test_models_describe_themselves(service: Any) -> None:
    models = {one["id"]: one for one in service.get("/whatif/models")}
    assert {"cpu", "memory", "dentries", "pod_start"} <= set(models)
    assert [one["id"] for one in models["cpu"]["controls"]][:2] == ["cpu_limit", "period_us"]
    assert models["cpu"]["controls"][0]["off"] == "no limit"
    for cause, expected in (
        ("cpu/gc_throttling", ["cpu"]),
        ("memory/query_burst_oom", ["memory"]),
        ("memory/reclaim_stall", []),
        ("kernel/nss_stat_storm", ["dentries"]),
        ("nothing/such", []),
    ):
        assert [one["id"] for one in service.get("/whatif/models", cause=cause)] == expected
    service.post("/whatif/crystal_ball", {"resource_id": 1}, status=404)
