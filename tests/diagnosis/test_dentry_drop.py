"""The pause predicted for dropping dentries, compared with drops that were really made on a node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.kernel.causes import dentry_reclaim_contention as contention
from jitterscope.diagnosis.areas.kernel.readings.dentry_falls import falls
from jitterscope.diagnosis.areas.kernel.readings.past_drops import PAST_DROP, event_of, past_drops
from jitterscope.diagnosis.areas.kernel.whatif import dentry_drop
from jitterscope.diagnosis.areas.kernel.whatif.dentry_drop import Pause
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.snapshot import Event, Snapshot
from jitterscope.diagnosis.scenarios.kernel.node import Loss, Node, Storm
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from tests.diagnosis.dentry_recording import drops, snapshot

SIZES = range(3)


def predicted(part: Snapshot) -> Pause:
    said = dentry_drop.predict(part)
    assert said is not None
    return said


def error(said: Pause, size: int) -> float:
    return said.seconds.expected / drops()[size].wall_s - 1


@pytest.mark.parametrize("size", SIZES)
def test_by_what_making_them_took(size: int) -> None:
    """There was no drop here before: based on the drop of the previous size, from where the window begins."""
    first = 0 if size == 0 else drops()[size - 1].tick + 30
    said = predicted(snapshot(first, drops()[size].tick))
    assert said.cost.source == "creation"
    assert abs(error(said, size)) < 0.3, said
    assert said.seconds.low <= drops()[size].wall_s <= said.seconds.high


@pytest.mark.parametrize("size", SIZES)
def test_by_the_nodes_kernel_time_where_no_cgroup_is_traced(size: int) -> None:
    first = 0 if size == 0 else drops()[size - 1].tick + 30
    said = predicted(snapshot(first, drops()[size].tick, with_cgroup=False))
    assert said.cost.source == "creation"
    # It includes others' kernel time: less certain, and the interval says so.
    assert said.cost.spread > predicted(snapshot(first, drops()[size].tick)).cost.spread
    assert said.seconds.low <= drops()[size].wall_s <= said.seconds.high


@pytest.mark.parametrize("size", [1, 2])
def test_by_earlier_drops(size: int) -> None:
    said = predicted(snapshot(0, drops()[size].tick))
    assert said.cost.source == "drops"
    assert abs(error(said, size)) < 0.3, said
    assert said.seconds.low <= drops()[size].wall_s <= said.seconds.high


def test_how_long_a_drop_took_is_read_from_ticks() -> None:
    found = [fall for fall in falls(snapshot()) if fall.how == "drop"]
    assert len(found) == len(drops())
    for fall, real in zip(found, drops(), strict=True):
        assert fall.freed == pytest.approx(real.freed, rel=0.05)
        assert fall.negative == pytest.approx(real.negative, rel=0.05)
        assert fall.duration_us / 1e6 == pytest.approx(real.wall_s, rel=0.15, abs=0.05)


def storm(**more: object) -> Snapshot:
    return simulate(replace(Node(storms=(Storm(20, 120, 20_000),)), **more))  # type: ignore[arg-type]


def test_so_many_names_that_are_not_there_take_so_long() -> None:
    snapshot = storm()
    one, ten = dentry_drop.predict(snapshot, 1e6), dentry_drop.predict(snapshot, 1e7)
    assert one is not None
    assert ten is not None
    assert ten.seconds.expected == pytest.approx(10 * one.seconds.expected)
    assert (one.positive, one.inodes) == (0, 0)


def test_real_files_take_longer_and_are_known_less_well() -> None:
    negative = dentry_drop.predict(storm(), 1e6, 0)
    mixed = dentry_drop.predict(storm(), 1e6, 1e6, 1e6)
    assert negative is not None
    assert mixed is not None
    assert mixed.seconds.expected > 5 * negative.seconds.expected
    assert mixed.seconds.high / mixed.seconds.low > negative.seconds.high / negative.seconds.low


# Storms and drops that were really made [µs each]: a newer processor, the recorded ones, a machine with neighbors.
MEASURED = [(0.98, 0.638), (1.04, 0.568), (1.17, 0.572), (1.39, 0.636), (2.29, 0.596), (2.47, 0.509), (4.1, 0.89)]


@pytest.mark.parametrize(("make_us", "free_us"), MEASURED)
def test_making_tells_of_dropping_on_any_processor(make_us: float, free_us: float) -> None:
    said = dentry_drop.predict(storm(make_us=make_us, free_us=free_us), 1e6)
    assert said is not None
    assert said.cost.source == "creation"
    assert said.seconds.expected == pytest.approx(free_us, rel=0.3)
    assert said.seconds.low <= free_us <= said.seconds.high


def with_node(calm: Snapshot, **more: float) -> Snapshot:
    node = replace(calm.node, series={**calm.node.series, **{k: np.full(calm.ticks, v) for k, v in more.items()}})
    return replace(calm, subject=node, node=node)


def test_where_cpus_are_wanted_by_others_it_takes_longer() -> None:
    calm = storm(make_us=1.0, free_us=0.6)
    alone, crowded = predicted_for(calm), predicted_for(with_node(calm, host_runnable=6.0))
    assert alone.waiting == pytest.approx(1.0)
    assert crowded.waiting == pytest.approx(3.0)
    assert crowded.seconds.expected == pytest.approx(3 * alone.seconds.expected)
    # They may have less weight.
    assert crowded.seconds.low == pytest.approx(alone.seconds.low)


def test_what_the_hypervisor_takes_is_waited_for() -> None:
    calm = storm(make_us=1.0, free_us=0.6)
    used = {"host_user_us": 40_000.0, "host_system_us": 20_000.0, "host_irq_us": 0.0}
    taken = predicted_for(with_node(calm, host_steal_us=20_000.0, **used))
    assert taken.waiting == pytest.approx(80 / 60)


def test_a_drop_beside_others_does_not_make_dropping_dear() -> None:
    """A drop's waits are not the cost of dropping: without the others, the next drop is fast."""
    quiet, busy = (simulate(Node(negative=5e6, losses=(Loss(60, "drop", 0.5),), free_us=0.6)) for _ in range(2))
    runnable = np.full(busy.ticks, 4.0)
    runnable[-200:] = 1.0
    node = replace(busy.node, series={**busy.node.series, "host_runnable": runnable})
    busy = replace(busy, subject=node, node=node)
    cost, dear = dentry_drop.cost_of(quiet), dentry_drop.cost_of(busy)
    assert dear.source == cost.source == "drops"
    assert dear.each_us == pytest.approx(cost.each_us / 2)


def predicted_for(of: Snapshot) -> Pause:
    said = dentry_drop.predict(of, 1e6)
    assert said is not None
    return said


def test_a_drop_before_the_window_counts() -> None:
    calm = simulate(Node(negative=5e6))
    unknown = dentry_drop.predict(calm, 1e6)
    past = Event(PAST_DROP, calm.start_us - 10**9, 2_000_000, {"weight": "1000000", "negative": "1000000"})
    node = replace(calm.node, events=(past,))
    said = dentry_drop.predict(replace(calm, subject=node, node=node), 1e6)
    assert unknown is not None
    assert unknown.cost.source == "reference"
    assert said is not None
    assert said.cost.source == "drops"
    assert said.seconds.expected == pytest.approx(2.0)
    assert unknown.seconds.high / unknown.seconds.low > 4 > said.seconds.high / said.seconds.low


def test_what_reclaim_took_is_better_than_nothing() -> None:
    snapshot = simulate(Node(negative=10e6, losses=(Loss(60, "kswapd", 0.3),), free_us=0.8))
    said = dentry_drop.predict(snapshot, 1e6)
    assert said is not None
    assert said.cost.source == "reclaim"
    assert said.seconds.expected == pytest.approx(0.8, rel=0.2)


def test_without_dentries_it_cannot_be_told() -> None:
    snapshot = simulate(Node())
    node = replace(snapshot.node, series={})
    assert dentry_drop.predict(replace(snapshot, subject=node, node=node)) is None


def test_an_earlier_finding_tells_what_its_drop_took() -> None:
    """The event that a finding of a drop becomes is read back as that drop; what reclaim freed is not."""
    found = contention.detect(simulate(Node(negative=2e6, losses=(Loss(60, "drop"),), seed=3)))
    assert isinstance(found, Found)
    numbers = {item.id: item.numbers for item in found.evidence}
    event = event_of(found.onset_us, numbers)
    assert event is not None
    quiet = simulate(Node(seed=4))
    node = replace(quiet.node, events=(event,))
    [drop] = past_drops(replace(quiet, node=node, subject=node))
    assert drop.weight == pytest.approx(numbers["freed"]["weight"], rel=1e-6)
    assert drop.duration_us == pytest.approx(numbers["freed"]["duration_us"], abs=1)
    assert dentry_drop.cost_of(replace(quiet, node=node, subject=node)).source == "drops"
    assert event_of(found.onset_us, {**numbers, "trigger": {"drops": 0.0, "direct_pages": 900.0}}) is None
    assert event_of(found.onset_us, {}) is None
