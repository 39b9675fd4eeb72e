"""The area `runtime`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

from dataclasses import replace

from jitterscope.diagnosis.areas.runtime.quantities import IMPACT, LONG_PAUSES_PER_MIN, PAUSE_MS_PER_MIN
from jitterscope.diagnosis.areas.runtime.readings import figures
from jitterscope.diagnosis.core import answers, lanes
from jitterscope.diagnosis.core.area import Area, Lane, Line, measured
from jitterscope.diagnosis.core.gc import EVENTS
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.programs.workload_facts import WORKLOAD

_PAUSES = ("gc_pause_us", "gc_active_us", *EVENTS)
AREA = Area(
    id="runtime",
    title="Runtime",
    lanes=(
        Lane(
            "gc_pauses", "Stopped for GC, per tick", "us",
            (Line("stopped", "gc_pause_us", "bars", hot=True, hot_above=SLOW_US, of="processes"),),
        ),
        lanes.HEAP,
    ),
    impact=IMPACT,
    measures=(
        replace(answers.SLOW_ANSWERS, needs=(*answers.SLOW_ANSWERS.needs, *_PAUSES), read=figures.slow),
        measured(LONG_PAUSES_PER_MIN, _PAUSES, figures.long_pauses),
        measured(PAUSE_MS_PER_MIN, _PAUSES, figures.pause_time),
        answers.P99,
    ),
    load=answers.SERVED,
    facts=WORKLOAD,
)  # fmt: skip
