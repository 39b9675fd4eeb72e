"""Runs for the scenarios of the memory causes."""

from __future__ import annotations

from dataclasses import replace

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.memory.simulate import MemoryWorkload, simulate_memory


def run(load: MemoryWorkload) -> Snapshot:
    return simulate_memory(load).snapshot


def until(load: MemoryWorkload, seconds: float) -> MemoryWorkload:
    """The same run, cut off at this time."""
    return replace(load, seconds=seconds)
