"""A noisy-neighbour run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

from jitterscope.recordings.model import Recording
from labs.noisy.bench import NoisyFigures, bench, run
from labs.noisy.variants import expected_cause
from labs.noisy.waiting import observed_run_delay_s
from labs.observed import observed
from labs.watching import Watch

LAB = "noisy-neighbour"


def _observed(recording: Recording, server_key: str) -> NoisyFigures:
    return NoisyFigures(**observed(recording, server_key).model_dump(), run_delay_s=observed_run_delay_s(recording))


watch = Watch(LAB, bench, run, expected_cause, _observed, began_us=lambda done: done.measured.from_us)
