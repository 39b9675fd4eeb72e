"""Runs for the scenarios of the memory causes."""

from __future__ import annotations

from dataclasses import replace

from jitterscope.diagnosis.simulate_memory import MemoryWorkload, simulate_memory
from jitterscope.diagnosis.snapshot import Snapshot


def run(load: MemoryWorkload) -> Snapshot:
    return simulate_memory(load).snapshot


def until(load: MemoryWorkload, seconds: float) -> MemoryWorkload:
    """The same run, seen at a moment of it."""
    return replace(load, seconds=seconds)
