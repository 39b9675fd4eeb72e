"""The texts that the cases quote, verbatim, give the right facts: shared/cases/case-1 and case-4."""

from __future__ import annotations

import json

import pytest

from jitterscope.analyses.engine import read_text
from jitterscope.analyses.report import Fact, Report, Table

NANNY = """\
      2023-10-10T10:02:36+02:00 I1010 08:02:36.571446   1 nanny.go:146] dnsmasq[4811]: 315207 10.0.0.83/56382 forwarded metadata.google.internal.cluster.local to 127.0.0.1#10053
2023-10-10T10:02:36+02:00 I1010 08:02:36.571457   1 nanny.go:146] dnsmasq[4811]: 315207 10.0.0.83/56382 reply metadata.google.internal.cluster.local is NXDOMAIN
2023-10-10T10:02:36+02:00 I1010 08:02:36.571488   1 nanny.go:146] dnsmasq[4810]: 315107 10.0.0.83/24595 forwarded metadata.google.internal.cluster.local to 127.0.0.1#10053
2023-10-10T10:02:36+02:00 I1010 08:02:36.571495   1 nanny.go:146] dnsmasq[4810]: 315107 10.0.0.83/24595 reply metadata.google.internal.cluster.local is NXDOMAIN
2023-10-10T10:02:36+02:00 I1010 08:02:36.575810   1 nanny.go:146] dnsmasq[4810]: 315108 10.0.0.83/24595 query[A] metadata.google.internal.some-namespace.svc.cluster.local from 10.0.0.83
2023-10-10T10:02:36+02:00 I1010 08:02:36.576101   1 nanny.go:146] dnsmasq[4810]: 315108 10.0.0.83/24595 forwarded metadata.google.internal.some-namespace.svc.cluster.local to 127.0.0.1#10053
2023-10-10T10:02:36+02:00 I1010 08:02:36.576132   1 nanny.go:146] dnsmasq[4810]: 315108 10.0.0.83/24595 reply metadata.google.internal.some-namespace.svc.cluster.local is NXDOMAIN
"""  # noqa: E501
# 2023-10-10T08:02:36Z
NANNY_US = 1_696_924_956_000_000
LOOP = """\
      Wed Oct 11 14:50:57 UTC 2023 Try: 1 DnsmasqProcess: 9
Wed Oct 11 14:50:58 UTC 2023 Try: 2 DnsmasqProcess: 14
Wed Oct 11 14:50:59 UTC 2023 Try: 3 DnsmasqProcess: 15
Wed Oct 11 14:51:00 UTC 2023 Try: 4 DnsmasqProcess: 21
Wed Oct 11 14:51:01 UTC 2023 Try: 5 DnsmasqProcess: 21
"""
ERROR_LINE = (
    "      [ERROR] plugin/errors: 2 archive.ubuntu.com.some-namespace.svc.cluster.local. A: "
    "dial tcp 172.18.165.130:53: i/o timeout\n"
)
DURATIONS = """\
      Request: PID 5439 RequestNumber 356558 Domain . Duration 2.273ms
Request: PID 4914 RequestNumber 319022 Domain api.statuspage.io.some-namespace.svc.cluster.local Duration 2.619ms
Request: PID 4915 RequestNumber 319123 Domain api.statuspage.io.cluster.local Duration 3.088ms
Session: PID 4890 Duration 1.005229s
Session: PID 5022 Duration 852.861ms
Session: PID 5435 Duration 2.627174s
"""
CONNECTIONS = """\
      Time: 08:08:30.610010781 TimeShort: 08:08:30 Port: 61236 Action: open Result: none Flags: PSHACK IdleGroup: fast ConIdleTime: 564.26µs ActiveConnections: 11
Time: 08:08:30.610206151 TimeShort: 08:08:30 Port: 10806 Action: open Result: none Flags: ACK IdleGroup: fast ConIdleTime: 178.4µs ActiveConnections: 11
Time: 08:08:30.900267009 TimeShort: 08:08:30 Port: 62083 Action: open Result: none Flags: FINACK IdleGroup: slow ConIdleTime: 6.429595796s ActiveConnections: 11
"""  # noqa: E501
IDLE = """\
      Time: 08:08:18.064874738 TimeShort: 08:08:18 Port: 19956 Action: open Result: none Flags: FINACK IdleGroup: slow ConIdleTime: 7.535928188s ActiveConnections: 9
Time: 08:08:18.064888758 TimeShort: 08:08:18 Port: 30168 Action: open Result: none Flags: FINACK IdleGroup: slow ConIdleTime: 7.577724318s ActiveConnections: 9
Time: 08:08:18.064909758 TimeShort: 08:08:18 Port: 41718 Action: open Result: none Flags: FINACK IdleGroup: slow ConIdleTime: 7.393646609s ActiveConnections: 9
Time: 08:08:18.064911088 TimeShort: 08:08:18 Port: 30386 Action: open Result: none Flags: FINACK IdleGroup: slow ConIdleTime: 7.535962768s ActiveConnections: 9
Time: 08:08:18.064920468 TimeShort: 08:08:18 Port: 21482 Action: open Result: none Flags: FINACK IdleGroup: slow ConIdleTime: 7.535946008s ActiveConnections: 9
"""  # noqa: E501


def fact(report: Report, id: str) -> Fact:
    found = [one for one in report.facts if one.id == id]
    assert len(found) == 1, [one.id for one in report.facts]
    return found[0]


def table(report: Report, id: str) -> Table:
    return next(one for one in report.tables if one.id == id)


def test_dnsmasq_log_behind_the_nanny() -> None:
    report = read_text(NANNY)
    assert report.kind == "dnsmasq_log"
    assert (report.from_us, report.to_us) == (NANNY_US + 571_446, NANNY_US + 576_132)
    assert fact(report, "answers").numbers == {"answers": 3, "unanswered": 0, "nxdomain": 3}
    # Only request 315108 has its query: 575810 to 576132, with 31 µs of it at kube-dns.
    assert fact(report, "durations").numbers == {"count": 1, "p50_us": 322, "p99_us": 322, "max_us": 322}
    assert fact(report, "upstream").numbers["max_us"] == 31
    name = "metadata.google.internal.some-namespace.svc.cluster.local"
    assert table(report, "requests").rows == [[name, "4810", 0.322, 0.291, 0.031]]
    assert fact(report, "upstreams").numbers == {"127.0.0.1#10053": 3}
    # One process maps to one TCP connection; 4811 ends before 4810 logs.
    assert table(report, "sessions").rows == [
        ["4810", "10.0.0.83/24595", 2.0, 4.644],
        ["4811", "10.0.0.83/56382", 1.0, 0.011],
    ]
    assert fact(report, "children").numbers == {"most": 1, "sessions": 2}
    assert table(report, "names").rows[0][:4] == ["metadata.google.internal.cluster.local", 2, 2, 0]
    assert report.findings == [], "5 ms of a log cannot tell what is wrong"
    assert report.not_enough_data


def test_the_process_count_loop() -> None:
    report = read_text(LOOP)
    assert report.kind == "process_count"
    assert fact(report, "processes").numbers == {"samples": 5, "least": 9, "most": 21}
    limit = fact(report, "child_limit")
    assert limit.level == "attention"
    # 2023-10-11T14:51:00Z
    assert limit.numbers == {"at_limit": 2, "samples": 5, "children_most": 20, "first_at_us": 1_697_035_860_000_000}
    assert "14:51:00 UTC" in (limit.detail or "")
    assert report.charts[0].lines[0].values == [9, 14, 15, 21, 21]
    assert report.charts[0].x == [(1_697_035_857 + second) * 1e6 for second in range(5)]
    assert report.findings == []
    assert report.not_enough_data


def test_the_error_line() -> None:
    report = read_text(ERROR_LINE)
    assert report.kind == "coredns_log"
    assert fact(report, "errors").numbers == {"errors": 1, "io_timeout": 1}
    assert fact(report, "upstreams").numbers == {"172.18.165.130:53": 1}
    assert fact(report, "upstreams").detail == "Over tcp."
    row = table(report, "errors").rows[0]
    assert row[1:] == ["172.18.165.130:53", "archive.ubuntu.com.some-namespace.svc.cluster.local", "A", 1.0]
    assert any("no time" in note for note in report.notes)


def test_the_error_line_as_the_kubelet_keeps_it() -> None:
    report = read_text("2023-10-10T08:02:36.571446000Z stdout F " + ERROR_LINE.strip() + "\n")
    assert fact(report, "errors").numbers == {"errors": 1, "io_timeout": 1}
    assert report.from_us == NANNY_US + 571_446
    docker = {"log": ERROR_LINE.strip() + "\n", "stream": "stdout", "time": "2023-10-10T08:02:36.571446Z"}
    assert read_text(json.dumps(docker) + "\n").from_us == NANNY_US + 571_446


def test_the_output_of_the_log_analyser() -> None:
    report = read_text(DURATIONS)
    assert report.kind == "request_durations"
    assert fact(report, "requests").numbers == pytest.approx({"count": 3, "least_us": 2273, "most_us": 3088})
    assert fact(report, "sessions").numbers == pytest.approx({"count": 3, "least_us": 852_861, "most_us": 2_627_174})
    assert fact(report, "idle_sessions").level == "attention"
    assert table(report, "requests").rows[0] == ["api.statuspage.io.cluster.local", "4915", 3.088]
    assert [row[0] for row in table(report, "sessions").rows] == ["5435", "4890", "5022"]


def test_the_output_of_the_packet_analyser() -> None:
    report = read_text(CONNECTIONS)
    assert report.kind == "connection_idle"
    assert fact(report, "connections").numbers == {"most": 11, "packets": 3, "packets_above_limit": 0}
    idle = fact(report, "idle")
    assert idle.numbers == pytest.approx({"packets": 1, "closing": 1, "longest_us": 6_429_595.796})
    assert table(report, "idle").rows == [["08:08:30.900", "62083", "FINACK", 6.43]]
    assert fact(report, "ports").numbers == {"ports": 3}


def test_what_grep_slow_of_the_packet_analyser_gave() -> None:
    report = read_text(IDLE)
    assert fact(report, "idle").numbers == pytest.approx({"packets": 5, "closing": 5, "longest_us": 7_577_724.318})
    assert fact(report, "connections").numbers["most"] == 9
    assert table(report, "idle").rows[0][1] == "30168"
