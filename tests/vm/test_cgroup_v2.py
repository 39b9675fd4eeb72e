"""The collector on cgroup v2 in qemu, on Debian's 6.1 kernel and on the newest that Debian has."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs.vm import sources
from labs.vm.cgroup_v2 import Comparison, compare
from tests.support.lab_plan import live
from tests.support.said import say

THROTTLED_US = 1_500_000


@pytest.mark.timeout(900)
def test_samples_add_up_to_the_kernels_counters(tmp_path: Path) -> None:
    seen = compare(tmp_path, say, quota_us=20_000, period_us=100_000, busy_s=6, throttled_us=THROTTLED_US)
    assert seen.sources.kernel.startswith("6.1.")
    adds_up(seen)
    # `jitterscope lab cgroup-v2-vm --store` and `make gen` bring docs/sources.md up to date.
    known = sources.stored()
    assert (seen.sources.v1, seen.sources.v2) == (known.v1, known.v2)


@pytest.mark.timeout(900)
@live(60, cpus=0.0, by_turn=False)
def test_on_the_newest_kernel_of_debian(tmp_path: Path) -> None:
    seen = compare(
        tmp_path, say, quota_us=20_000, period_us=100_000, busy_s=6, throttled_us=THROTTLED_US, suite=sources.NEWEST
    )
    adds_up(seen)
    # With --newest as well. Debian can have a newer one by now: what is said must not change with it unnoticed.
    known = sources.stored(sources.NEWEST)
    assert release(seen.sources) >= release(known)
    assert (seen.sources.v1, seen.sources.v2) == (known.v1, known.v2)


def release(found: sources.Sources) -> tuple[int, ...]:
    major, minor, *_ = found.kernel.split(".")
    return int(major), int(minor)


def adds_up(seen: Comparison) -> None:
    assert seen.facts["node.cgroup_version"] == "2"
    assert (seen.facts["cpu.quota_us"], seen.facts["cpu.period_us"]) == ("20000", "100000")
    assert seen.sources.v2["cgroup_cpu"] == "works"
    # Otherwise there is nothing to compare.
    assert seen.kernel["nr_throttled"] > 10
    assert seen.kernel["throttled_usec"] > 1_000_000
    assert seen.collector == seen.kernel
