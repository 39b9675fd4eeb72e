"""Logs of real servers (tests/fixtures/evidence/README.md says how they were made), and variants of them."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from jitterscope.analyses.engine import read_text
from jitterscope.analyses.report import Fact, Report

EVIDENCE = Path(__file__).resolve().parents[2] / "fixtures" / "evidence"
DNSMASQ = (EVIDENCE / "dnsmasq-2.90-extra.txt").read_text()
COREDNS = (EVIDENCE / "coredns-1.12.0.txt").read_text()


def fact(report: Report, id: str) -> Fact:
    return next(one for one in report.facts if one.id == id)


def test_dnsmasq_tells_its_children_from_its_main_process() -> None:
    report = read_text(DNSMASQ)
    assert report.kind == "dnsmasq_log"
    asked = len(re.findall(r" query\[", DNSMASQ))
    numbers = fact(report, "answers").numbers
    assert numbers["answers"] + numbers["unanswered"] == asked
    assert numbers["nxdomain"] == len(re.findall(r"(?:reply|cached|config) \S+ is NXDOMAIN", DNSMASQ))
    # dnsperf was six TCP clients; the main process answered UDP.
    assert fact(report, "children").numbers == {"most": 6, "sessions": 6}
    assert fact(report, "version").value == "2.90"
    assert fact(report, "upstreams").numbers == {"127.0.0.1#5454": len(re.findall(r" forwarded ", DNSMASQ))}
    assert not any(one.id == "durations" for one in report.facts), "the lines have no time"
    assert any("durations are not known" in note for note in report.notes)


def with_nanny(text: str, step_us: int) -> str:
    """The same lines as kube-dns's nanny writes them, `step_us` apart."""
    lines = []
    for number, line in enumerate(text.splitlines()):
        second, micro = divmod(number * step_us, 1_000_000)
        lines.append(f"I1010 08:{2 + second // 60:02}:{second % 60:02}.{micro:06}   1 nanny.go:146] {line}\n")
    return "".join(lines)


def test_the_same_log_with_times() -> None:
    report = read_text(with_nanny(DNSMASQ, 250), year=2023)
    assert fact(report, "children").numbers == {"most": 6, "sessions": 6}
    # Within its process, each request's lines are consecutive; nothing takes longer than a few lines of others.
    durations = fact(report, "durations").numbers
    assert durations["count"] == fact(report, "answers").numbers["answers"]
    assert 250 <= durations["p50_us"] <= durations["max_us"] < 20_000
    children = next(one for one in report.charts if one.id == "children")
    assert max(value or 0 for value in children.lines[0].values) == 6
    assert report.from_us == 1_696_924_920_000_000  # 2023-10-10T08:02:00Z


@pytest.mark.parametrize("prefix", ["Oct 10 08:02:36 ", "Oct 10 08:02:36 node-1 ", "<30>Oct  1 08:02:36 "])
def test_syslog_has_whole_seconds(prefix: str) -> None:
    report = read_text("".join(f"{prefix}{line}\n" for line in DNSMASQ.splitlines()), year=2023)
    assert fact(report, "children").numbers["sessions"] == 6
    assert not any(one.id in ("durations", "sessions") for one in report.facts)
    assert report.from_us is not None


def test_arguments_of_the_nanny_tell_about_negative_caching() -> None:
    start = "I1010 08:02:00.000000   1 nanny.go:86] Starting dnsmasq [-k --cache-size=1000 --no-negcache]\n"
    negative = fact(read_text(start + with_nanny(DNSMASQ, 250), year=2023), "negative_cache")
    assert (negative.value, negative.level) == ("no (--no-negcache)", "attention")


def test_coredns_counts_errors_and_answers() -> None:
    report = read_text(COREDNS)
    assert report.kind == "coredns_log"
    errors = COREDNS.count("[ERROR] plugin/errors")
    assert fact(report, "errors").numbers == {"errors": errors, "connection_refused": errors}
    assert fact(report, "upstreams").numbers == {"127.0.0.1:5999": errors}
    assert fact(report, "version").value == "1.12.0"
    durations = fact(report, "durations").numbers
    took_us = sorted(float(s) * 1e6 for s in re.findall(r" (\d[\d.e-]*)s$", COREDNS, re.MULTILINE))
    assert durations["queries"] == len(took_us)
    assert durations["servfail"] == errors, "logged as - by the log plugin, which comes before the answer"
    assert durations["max_us"] == pytest.approx(took_us[-1])


@pytest.mark.slow
def test_growing_memory_has_a_bound(tmp_path: Path) -> None:
    """Names, requests, and sessions without end: the log reader stays under its limit."""
    from jitterscope.analyses.isolate import Limits, analyse

    path = tmp_path / "endless.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        for number in range(400_000):
            file.write(f"dnsmasq[{number}]: {number} 10.0.{number % 250}.9/{number % 60_000} ")
            file.write(f"query[A] name-{number}.example.com from 10.0.{number % 250}.9\n")
    report = analyse(path, 2026, tmp_path, Limits(10**9, 700_000_000, 60, 120))
    assert fact(report, "children").numbers["sessions"] == 200_000
    assert fact(report, "answers").numbers["unanswered"] == 400_000
