"""A service-gc run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

from labs.observed import observed
from labs.service.bench import bench, run
from labs.service.variants import expected_cause
from labs.watching import Watch

LAB = "service-gc"

watch = Watch(LAB, bench, run, expected_cause, observed, began_us=lambda done: done.measured.first_throttled_query_us)
