"""The collector on Debian's 6.1 kernel with cgroup v2, in qemu."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs.vm import sources
from labs.vm.cgroup_v2 import compare


@pytest.mark.timeout(600)
def test_samples_add_up_to_the_kernels_counters(tmp_path: Path) -> None:
    seen = compare(tmp_path, print, quota_us=20_000, period_us=100_000, busy_s=6)
    assert seen.sources.kernel.startswith("6.1.")
    assert seen.facts["node.cgroup_version"] == "2"
    assert (seen.facts["cpu.quota_us"], seen.facts["cpu.period_us"]) == ("20000", "100000")
    assert seen.sources.v2["cgroup_cpu"] == "works"
    # The busy loop was throttled in most of its periods; otherwise there is nothing to compare.
    assert seen.kernel["nr_throttled"] > 10
    assert seen.kernel["throttled_usec"] > 1_000_000
    assert seen.collector == seen.kernel
    # `jitterscope lab cgroup-v2-vm --store` and `make gen` bring docs/sources.md up to date.
    known = sources.stored()
    assert (seen.sources.v1, seen.sources.v2) == (known.v1, known.v2)
