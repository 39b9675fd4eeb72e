"""The two sets of figures of a run, computed from made-up but exact inputs."""

from __future__ import annotations

import numpy as np
import pytest

from jitterscope.analyses.load_file import LoadResult
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.inventory.types import FactRow
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.types import StoredDistribution, StoredEvent
from labs.cgroups import Hierarchies
from labs.errors import LabError
from labs.figures import first_throttled_query_us, measured
from labs.gctrace import GcCycle, parse_line
from labs.observed import observed
from labs.podstart.figures import Loaded
from labs.podstart.observed import event_of
from labs.variants import Variant, parameters_of, settle

START = 1_000_000_000


def run() -> LoadResult:
    """1 s of 999 queries of 1 ms; those of [400, 412) ms are 50 ms late; one from long before is given up.

    The server uses 0.2 CPUs, and 1 in [400, 500) ms.
    """
    sent = START + np.arange(1000, dtype=np.int64) * 1000
    latency = np.full(1000, 1000, np.int32)
    latency[400:412] = 50_000
    latency[999] = 5_000_000
    sent[999] = START - 4_500_000
    result = np.zeros(1000, np.uint8)
    result[999] = TIMEOUT
    at = START + np.arange(-1, 102) * 10_000
    usage = np.cumsum(np.where((at > START + 400_000) & (at <= START + 500_000), 10_000, 2_000))
    periods = (at - START) // 100_000 + 5
    throttled = np.where(at >= START + 450_000, 1, 0)
    counters = np.stack([at, periods, throttled, throttled * 48_000, usage, at * 0], axis=1)
    return LoadResult(sent, latency, result, counters)


def test_measured() -> None:
    cycles = [GcCycle(START - 10, START - 1, 0, 0), GcCycle(START + 5, START + 9, 0, 0)]
    figures = measured(run(), cycles, START, START + 1_000_000, 100_000)
    assert (figures.p50_ms, figures.p99_ms) == (1.0, 50.0)
    assert figures.slow_share == pytest.approx(13 / 999)
    assert figures.throttled_ratio == pytest.approx(0.1)
    assert figures.throttled_ms == 48
    assert figures.gc_cycles == 1
    assert figures.cpu_mean == pytest.approx(0.28)
    assert figures.cpu_peak_100ms == pytest.approx(1.0)


def test_first_throttled_query() -> None:
    assert first_throttled_query_us(run()) == START + 400_000
    quiet = run()
    quiet.counters[:, 2] = 0
    assert first_throttled_query_us(quiet) is None


def test_observed_spreads_late_and_missing_ticks() -> None:
    """0.2 CPUs all the time, but tick 3 is missing and tick 6 was sampled 50 ms late."""
    usage = np.full(10, 20_000.0)
    usage[3], usage[4] = np.nan, 40_000.0
    usage[6], usage[7] = 30_000.0, 10_000.0
    lateness = np.zeros(10)
    lateness[6] = 50_000
    histogram = StoredDistribution(np.array([0, 1]), np.array([100, 250]), np.array([98, 2]))
    series = {"dns_queries": np.full(10, 10.0), "dns_slow": np.eye(10)[0], "dns_timeouts": np.eye(10)[1]}
    recording = Recording(
        start_us=START,
        ticks=10,
        subject=1,
        resources=(
            RecordedResource("node", "n", "n", 0, {"collector_lateness_us": lateness}),
            RecordedResource("cgroup", "/c", "/c", 0, {"cpu_usage_us": usage}),
            RecordedResource("dns_server", "1.2.3.4:53", "s", 1, series, {}, {"dns_latency_us": histogram}),
            RecordedResource("process", "2:2", "coredns", 1, {"gc_cycles": np.eye(10)[2]}),
            RecordedResource("process", "3:3", "coredns", 0, {"gc_cycles": np.ones(10)}),
        ),
    )
    figures = observed(recording, "1.2.3.4:53")
    assert figures.gc_cycles == 1, "not those of a neighbour"
    assert figures.cpu_mean == pytest.approx(0.2)
    assert figures.cpu_peak_100ms == pytest.approx(0.2)
    assert figures.slow_share == pytest.approx(0.02)
    assert figures.p50_ms == pytest.approx(1.04**100 / 1e3, rel=0.02)
    assert figures.p99_ms == pytest.approx(1.04**250 / 1e3, rel=0.02)
    assert observed(recording, "1.2.3.4:54").p50_ms is None


def test_peak_is_no_more_than_one_period_where_a_tick_holds_the_ends_of_two() -> None:
    """A limit of 0.2 CPUs, used at once when a period begins, near the ticks' edges: 40 ms in one, 0 in the next."""
    sent = START + np.arange(100, dtype=np.int64) * 10_000
    at = START + np.arange(-1, 102) * 10_000
    begun = (at - START + 99_000) // 100_000
    begun += at == START + 600_000  # this one just before the edge, the others just after theirs
    counters = np.stack([at, begun, begun, begun * 80_000, begun * 20_000, at * 0], axis=1)
    load = LoadResult(sent, np.full(100, 1000, np.int32), np.zeros(100, np.uint8), counters)
    assert measured(load, [], START, START + 1_000_000, 100_000).cpu_peak_100ms == pytest.approx(0.2)
    usage, ended = np.full(10, 20_000.0), np.full(10, 1.0)
    usage[5:7], ended[5:7] = (0, 40_000), (0, 2)
    period = FactRow("cpu.period_us", "100000", START)
    cgroup = RecordedResource("cgroup", "/c", "/c", 0, {"cpu_usage_us": usage, "cpu_periods": ended}, facts=(period,))
    recording = Recording(START, 10, 1, (RecordedResource("node", "n", "n", 0), cgroup))
    figures = observed(recording, "1.2.3.4:53")
    assert figures.cpu_peak_100ms == pytest.approx(0.2)
    assert figures.gc_cycles is None, "no process was seen"


def test_gctrace() -> None:
    line = (
        "gc 12 @8.491s 1%: 0.055+221+0.019 ms clock, 0.11+0.20/217/214+0.038 ms cpu, 201->204->148 MB, 236 MB goal, "
        "0 MB stacks, 0 MB globals, 2 P\n"
    )
    cycle = parse_line(line, 1_000_000)
    assert cycle == GcCycle(1_000_000 - 221_074, 1_000_000, 431_348, 148 << 20)
    assert parse_line("[ERROR] plugin/errors: 2 . A: gc\n", 1) is None


def test_parameters() -> None:
    assert parameters_of(Variant.BURST, {"quota_us": 30_000}).burst_us == 30_000
    assert parameters_of(Variant.BURST, {"burst_us": 10_000}).burst_us == 10_000
    assert parameters_of(Variant.GC_SPIRAL, {"records": 1_000_000}).gomemlimit == "177MiB"
    assert parameters_of(Variant.PERIODIC_BURST, {"quota_us": 20_000}).burn_ms == 60
    with pytest.raises(LabError, match="--quota-us"):
        parameters_of(Variant.OVERLOAD, {"quota_us": 100_000_000})


def test_load_and_limit_fit_each_other() -> None:
    """Each query costs 400 µs of CPU."""
    overload = settle(Variant.OVERLOAD, parameters_of(Variant.OVERLOAD, {}), 400e-6)
    assert overload.quota_us == 24_000  # 0.6 of 1,000 x 400 µs
    given = settle(Variant.OVERLOAD, parameters_of(Variant.OVERLOAD, {"quota_us": 60_000}), 400e-6)
    assert given.qps == 2500  # 0.6 CPUs are 0.6 of what it needs
    bursts = settle(Variant.REQUEST_BURST, parameters_of(Variant.REQUEST_BURST, {"quota_us": 20_000}), 400e-6)
    assert (bursts.burst_qps, bursts.qps) == (1000, 100)


def test_hierarchies() -> None:
    split = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
    assert [str(folder) for folder in Hierarchies.of_this_machine(split).folders("x")] == [
        "/sys/fs/cgroup/cpu,cpuacct/x"
    ]
    # As systemd mounts them: a cgroup is made in both, since the kernel counts pressure only in the second.
    hybrid = Hierarchies.of_this_machine(split + "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n")
    assert hybrid.version == 1
    assert [str(folder) for folder in hybrid.folders("x")] == [
        "/sys/fs/cgroup/unified/x", "/sys/fs/cgroup/cpu,cpuacct/x"
    ]  # fmt: skip
    assert Hierarchies.of_this_machine("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n").version == 2
    with pytest.raises(LabError):
        Hierarchies.of_this_machine("proc /proc proc rw 0 0\n")


def test_a_load_is_found_though_its_loader_lost_the_cpu() -> None:
    """Two loads of 500 µs under one name; the loader of the second read its clock 3 ms later."""
    events = tuple(
        StoredEvent(number, 1, "bpf.load", START + at, 500, {"name": name})
        for number, (at, name) in enumerate([(0, "cil_to_host"), (600, "cil_from_host"), (1_000, "cil_to_host")])
    )
    node = Recording(START, 1, 0, (RecordedResource("node", "n", "n", 0, events=events),))
    assert event_of(node, Loaded("cil_to_host", START, 510, 100)) == events[0]
    assert event_of(node, Loaded("cil_to_host", START + 990, 3_500, 100)) == events[2]
    assert event_of(node, Loaded("cil_to_host", START + 10_000, 510, 100)) is None
