"""Captures whose every packet is known: connections that wait as in case 4, and a server on which none waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jitterscope.analyses.isolate import Limits, analyse
from jitterscope.analyses.report import Report
from jitterscope.settings import REPOSITORY
from tests.backend.analyses.captures import SERVER, Capture

START_US = 1_697_035_857_000_000
NAME = "archive.ubuntu.com.some-ns.svc.cluster.local."


def read(path: Path) -> Report:
    limits = Limits(unpacked_bytes=10**9, memory_bytes=600_000_000, cpu_s=60, wall_s=120)
    return analyse(path, 2026, REPOSITORY / "bin" / "jitterscope-evidence", limits)


def connections(path: Path, count: int, first_wait_us: int) -> Path:
    """`count` connections, 10 ms apart: first answer after `first_wait_us`, two after 50 ms each, then 6 s idle."""
    capture = Capture()
    for number in range(count):
        port, at_us = 20_000 + number, START_US + number * 10_000
        capture.open(at_us, port)
        capture.ask(at_us + 100, port, number, NAME)
        at_us += 100 + first_wait_us
        capture.answer(at_us, port, number, NAME)
        for turn in (1, 2):
            capture.ask(at_us + 1000, port, turn * 1000 + number, NAME)
            at_us += 1000 + 50_000
            capture.answer(at_us, port, turn * 1000 + number, NAME)
        capture.close(at_us + 6_000_000, port)
    return capture.write(path)


def numbers(report: Report) -> dict[str, dict[str, float]]:
    return {fact.id: fact.numbers for fact in report.facts}


def chart(report: Report, id: str) -> Any:
    return next(one for one in report.charts if one.id == id)


def test_new_connections_that_wait_are_told_from_slow_answers(tmp_path: Path) -> None:
    report = read(connections(tmp_path / "waits.pcap", 40, 952_000))
    found = numbers(report)
    assert found["queries"]["queries"] == 120
    assert found["durations"]["max_us"] == 952_000
    waiting = next(fact for fact in report.facts if fact.id.startswith("new_connections_"))
    assert waiting.level == "attention"
    assert waiting.label == f"New connections to {SERVER}:53 wait"
    # Percentiles come from buckets 4 % wide.
    assert waiting.numbers["first_p50_us"] == pytest.approx(952_000, rel=0.03)
    assert waiting.numbers["later_p50_us"] == pytest.approx(50_000, rel=0.03)
    assert waiting.numbers["first_count"] == 40
    assert found["connections"] == {"open_max": 40, "connections": 40, "opened": 40}
    assert found["idle"]["idle_max"] == 40
    assert found["idle"]["longest_us"] == pytest.approx(6_000_000, rel=0.001)
    lines = {line.name: [value or 0 for value in line.values] for line in chart(report, "connections").lines}
    assert max(lines["open"]) == max(lines["idle for over 1 s"]) == 40
    assert lines["open"][0] == 10, "ten in each of the first ticks"
    assert sum(value or 0 for value in chart(report, "rate").lines[0].values) / 10 == pytest.approx(120, abs=0.1)
    dots = [value for line in chart(report, "queries").lines for value in line.values if value is not None]
    assert sorted(dots) == pytest.approx([50_000] * 80 + [952_000] * 40)
    idle = next(table for table in report.tables if table.id == "idle_sessions")
    assert idle.rows[0][idle.columns.index("longest idle time (s)")] == pytest.approx(6.0, abs=0.001)
    # Children and backlog are not in packets: the cause says so instead of guessing.
    missing = {one.cause: one.missing for one in report.not_enough_data}
    assert missing["dns/dnsmasq_connection_exhaustion"] == ["process_children", "dns_accept_backlog"]
    assert report.findings == []


def test_slow_answers_on_every_query_are_no_waiting_connections(tmp_path: Path) -> None:
    report = read(connections(tmp_path / "even.pcap", 40, 50_000))
    assert not any(fact.id.startswith("new_connections_") for fact in report.facts)
    assert numbers(report)["durations"]["max_us"] == 50_000


def test_what_packets_cannot_show_is_not_ruled_out(tmp_path: Path) -> None:
    report = read(connections(tmp_path / "even.pcap", 40, 50_000))
    missing = {one.cause: one.missing for one in report.not_enough_data}
    assert missing["dns/udp_loss"] == ["dns_socket_drops"]
    assert missing["dns/slow_upstream"] == ["dns.upstreams"]
    ruled_out = {one.cause for one in report.not_found}
    assert not ruled_out & {"dns/udp_loss", "dns/slow_upstream", "dns/connection_pool_churn"}
