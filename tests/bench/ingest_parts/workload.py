"""What both databases store: the series of busy and idle cgroups, with the same values for both, from one seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

TICK_US = 100_000
# Counters that fit 32 bits, then gauges in bytes, as a collector groups them into blocks.
COUNTS = (
    "cpu_usage_us", "cpu_user_us", "cpu_system_us", "cpu_periods", "cpu_throttled_periods", "cpu_throttled_us",
    "cpu_bursts", "cpu_burst_us", "memory_limit_hits", "memory_oom_kills", "memory_major_faults", "pids_current",
)  # fmt: skip
BYTES = ("memory_usage_bytes", "memory_anon_bytes", "memory_file_bytes")
METRICS = COUNTS + BYTES
IDLE_SHARE = 0.3


@dataclass(frozen=True)
class Workload:
    """`cgroups` with every metric of METRICS each, `ticks` long."""

    cgroups: int
    ticks: int
    start_us: int
    seed: int = 1

    @property
    def series(self) -> int:
        return self.cgroups * len(METRICS)

    @property
    def samples(self) -> int:
        return self.series * self.ticks

    def values(self) -> dict[str, Values]:
        """Ticks of each metric as (cgroups, ticks)."""
        random = np.random.default_rng(self.seed)
        shape = (self.cgroups, self.ticks)
        busy = (random.random(self.cgroups) >= IDLE_SHARE)[:, None]
        level = random.lognormal(8.5, 1.2, (self.cgroups, 1))
        usage = np.abs(random.normal(level, level / 4, shape)) * (1 + 0.3 * np.sin(np.arange(self.ticks) / 600))
        spikes = random.random(shape) < 0.005  # a GC cycle now and then
        usage = np.where(spikes, usage + random.uniform(30_000, 100_000, shape), usage)
        usage = np.rint(np.where(busy, usage, random.random(shape) < 0.01) * 1.0)
        throttled = spikes & busy & (random.random((self.cgroups, 1)) < 0.5)
        user = np.rint(usage * random.uniform(0.6, 0.9, shape))
        pages = np.cumsum(np.where(random.random(shape) < 0.2, random.integers(-30, 31, shape), 0), axis=1)
        anon = (
            (random.integers(2_000, 200_000, (self.cgroups, 1)) + pages.clip(min=-1000)) * 4096.0 * np.where(busy, 1, 0)
        )
        file = random.integers(100, 50_000, (self.cgroups, 1)) * 4096.0 + np.zeros(shape)
        return {
            "cpu_usage_us": usage,
            "cpu_user_us": user,
            "cpu_system_us": usage - user,
            "cpu_periods": np.where(busy, 1.0, 0.0) + np.zeros(shape),
            "cpu_throttled_periods": throttled * 1.0,
            "cpu_throttled_us": np.where(throttled, random.integers(10_000, 95_000, shape), 0) * 1.0,
            "cpu_bursts": np.zeros(shape),
            "cpu_burst_us": np.zeros(shape),
            "memory_limit_hits": (random.random(shape) < 0.0005) * 1.0,
            "memory_oom_kills": np.zeros(shape),
            "memory_major_faults": np.where(random.random(shape) < 0.002, random.integers(1, 50, shape), 0) * 1.0,
            "pids_current": 5.0 + np.rint(np.cumsum(random.normal(0, 0.02, shape), axis=1)).clip(-4, 40),
            "memory_usage_bytes": anon + file,
            "memory_anon_bytes": anon,
            "memory_file_bytes": file,
        }


def cgroup_key(number: int) -> str:
    return f"/kubepods.slice/kubepods-burstable.slice/pod{number // 3:05d}/container{number:06d}"
