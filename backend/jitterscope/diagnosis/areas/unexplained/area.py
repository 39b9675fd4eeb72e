"""The area `unexplained`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

from jitterscope.diagnosis.core import answers, impact, lanes
from jitterscope.diagnosis.core.area import Area, Lane, Line, Mark
from jitterscope.diagnosis.programs.workload_facts import WORKLOAD

AREA = Area(
    id="unexplained",
    title="Unexplained",
    lanes=(
        Lane(
            "serving_time", "Where the program's time goes", "cpu",
            (
                Line("on a CPU", "process_cpu_us", "area", of="processes", scale=lanes.PER_TICK_US),
                Line(
                    "ready to run, waiting for one", "process_run_delay_us", "line", hot=True, of="processes",
                    scale=lanes.PER_TICK_US,
                ),
            ),
        ),
        Lane(
            "io_pressure", "I/O pressure (PSI) of the node: share of the time", "ratio",
            (
                Line("some task waits", "psi_io_some_us", "bars", of="node", scale=lanes.PER_TICK_US),
                Line("all tasks wait", "psi_io_full_us", "bars", hot=True, of="node", scale=lanes.PER_TICK_US),
            ),
        ),
        lanes.NODE_CPU,
        lanes.PRESSURE,
    ),
    marks=(Mark("process.start", "process started"), Mark("process.exit", "process ended")),
    impact=(*impact.ANSWERS, *impact.CPU_USE),
    measures=(answers.SLOW_ANSWERS, answers.P99),
    load=answers.SERVED,
    facts=(*WORKLOAD, answers.DNS_VERSION, answers.COREFILE),
)  # fmt: skip
