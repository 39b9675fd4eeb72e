"""The severity rule, its boundaries, and which clients are counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.severity import severity
from tests.diagnosis.recorded import snapshot


@pytest.mark.parametrize(
    ("slow", "queries", "max_ms", "lost", "expected"),
    [
        (0, 10_000, 500.0, 0, None),
        (2, 10_000, 500.0, 0, None),
        (3, 10_000, 500.0, 0, "info"),
        (5, 10_000, 500.0, 0, "info"),
        (10, 10_000, 500.0, 0, "warning"),
        (50, 1_000_000, 30.0, 0, "warning"),
        (100, 10_000, 99.0, 0, "warning"),
        (100, 10_000, 100.0, 0, "critical"),
        (1_000, 10_000, 30.0, 0, "critical"),
        (0, 10_000, None, 5, "warning"),
        (0, 10_000, None, 50, "critical"),
        (0, 0, None, 0, None),
        (5, 0, 900.0, 5, None),
    ],
)
def test_borders(slow: float, queries: float, max_ms: float | None, lost: float, expected: str | None) -> None:
    assert severity(slow, queries, max_ms, lost) == expected


def test_throttling_that_hurts_nobody_is_a_risk() -> None:
    """The same stalls, but the answers were fast: found, not sent."""
    whole = snapshot("fault")
    server = whole.dns_servers[0]
    quick = replace(server, series={**server.series, "dns_slow": server.series["dns_slow"] * 0}, queries=None)
    found = diagnose(replace(whole, dns_servers=(quick,))).findings[0]
    assert found.cause == "cpu/gc_throttling"
    assert found.severity is None
    assert "no answer was late" in found.title


def test_slow_answers_elsewhere_are_not_blamed_on_the_stalls() -> None:
    whole = snapshot("fault")
    server = whole.dns_servers[0]
    slow = server.series["dns_slow"] * 0
    slow[100:110] = 50
    elsewhere = replace(server, series={**server.series, "dns_slow": slow}, queries=None)
    found = diagnose(replace(whole, dns_servers=(elsewhere,))).findings[0]
    assert found.severity is None
    assert next(item for item in found.evidence if item.id == "slow_in_stalls").numbers["hits"] == 0
