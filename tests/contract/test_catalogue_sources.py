"""Every metric, fact, and event of the catalogue names a source that the collector has."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

from jitterscope.series.catalogue import EVENTS, FACTS, METRICS

COLLECTOR = Path(__file__).parents[2] / "collector"
NAME = re.compile(r'source\.Register\("(\w+)"')


def test_every_source_is_one_of_the_collectors() -> None:
    files = (COLLECTOR / "internal").rglob("*.go")
    known = set(chain.from_iterable(NAME.findall(path.read_text()) for path in files))
    assert "cgroup_cpu" in known
    named = {entry.source for table in (METRICS, FACTS, EVENTS) for entry in table.values()}
    assert named <= known
