"""The area `app`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

from jitterscope.diagnosis.core import answers, impact
from jitterscope.diagnosis.core.area import Area, Lane, Line
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.programs.workload_facts import WORKLOAD

AREA = Area(
    id="app",
    title="Application",
    lanes=(
        Lane(
            "upstream_time", "Slowest answer from the servers that it calls", "us",
            (Line("slowest", "upstream_latency_max_us", "bars", hot=True, hot_above=SLOW_US, of="tcp_upstreams"),),
        ),
        Lane(
            "upstream_calls", "Calls to other servers, per tick", "1",
            (
                Line("calls", "upstream_calls", "area", of="tcp_upstreams"),
                Line("over 20 ms", "upstream_calls_slow", "bars", hot=True, of="tcp_upstreams"),
            ),
        ),
    ),
    impact=(*impact.ANSWERS, *impact.CPU_USE),
    measures=(answers.SLOW_ANSWERS, answers.P99),
    load=answers.SERVED,
    facts=WORKLOAD,
)  # fmt: skip
