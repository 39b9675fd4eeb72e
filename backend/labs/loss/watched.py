"""A packet-loss run that a product watches: the run, then the questions to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from jitterscope.recordings.model import Recording
from jitterscope.series.types import FloatArray
from labs import watching
from labs.console import Say
from labs.loss.bench import bench, run
from labs.loss.variants import Parameters, Variant, expected_cause
from labs.observed import missing_ticks_ratio, observed, server_of
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident
from labs.wire.figures import LATE_MS, WireFigures, times_us, total

LAB = "packet-loss"


def watch(
    product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say
) -> Report[WireFigures]:
    """Run the lab under a running product and report both accounts. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        bench(parameters, Path(folder), say) as made,
    ):
        (cgroup_id,) = watching.find_cgroups(product, [made.stage.cgroup.key])
        done = run(made, say)
        from_us, to_us = done.measured.from_us, done.measured.to_us
        say("Waiting for the product's final verdict")
        said = watching.last_word(product, [cgroup_id], from_us, to_us)
        seen = product.recording(cgroup_id, from_us, to_us)
        missing_ratio = missing_ticks_ratio(seen, say)
        if record_to is not None:
            expected = expected_cause(variant)
            labels = watching.labels(LAB, variant.value, expected, made.parameters, done.figures, from_us)
            watching.record(product, cgroup_id, from_us, to_us, labels, record_to)
        return Report[WireFigures](
            lab=LAB,
            variant=variant.value,
            parameters=made.parameters.model_dump(),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=done.figures,
            observed=_observed(seen, made.server.key),
            time_to_incident_s=seconds_to_incident(said.incidents, done.first_waited_us),
            incident_urls=said.urls(product),
            missing_ticks_ratio=missing_ratio,
        )


def _observed(recording: Recording, key: str) -> WireFigures:
    """What clients waited: the server's own latency, and on top of it what the product knows of segments sent again."""
    server = server_of(recording, key)
    requests, seen = total(server, "requests"), observed(recording, key)
    delays = times_us(server, "retransmit_delay_us")
    late = int((delays > LATE_MS * 1000).sum() + (times_us(server, "handshake_us") > LATE_MS * 1000).sum())
    slow = 0.0 if seen.slow_share is None or not requests else seen.slow_share * requests
    share = None if not requests else (slow + late) / requests
    return WireFigures(
        **{**seen.model_dump(), "slow_share": share, "p99_ms": _p99_ms(seen.p99_ms, delays, requests)},
        opened=total(server, "connections_opened"),
        dropped=total(server, "listen_drops"),
        resent=total(server, "retransmits"),
        waited_share=None if not requests else late / requests,
    )


def _p99_ms(own_ms: float | None, delays: FloatArray, requests: int | None) -> float | None:
    """Of what clients waited: where more than 1 % waited for a segment, it is one of them."""
    beyond = 0 if not requests else len(delays) - round(0.01 * requests)
    if beyond <= 0 or own_ms is None:
        return own_ms
    return float(np.sort(delays)[-round(0.01 * (requests or 0)) - 1]) / 1000
