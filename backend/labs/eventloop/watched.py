"""An event-loop run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

from jitterscope.recordings.model import Recording
from labs.eventloop.bench import EventLoopFigures, bench, run
from labs.eventloop.variants import expected_cause
from labs.noisy.waiting import observed_run_delay_s
from labs.observed import observed
from labs.watching import Watch

LAB = "event-loop"


def _observed(recording: Recording, server_key: str) -> EventLoopFigures:
    return EventLoopFigures(**observed(recording, server_key).model_dump(), run_delay_s=observed_run_delay_s(recording))


watch = Watch(LAB, bench, run, expected_cause, _observed)
