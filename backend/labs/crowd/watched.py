"""An accept-queue run that a product watches: the run, then the questions to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

from jitterscope.diagnosis.areas.net.readings.overflow import read_overflow
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from labs import watching
from labs.console import Say
from labs.crowd.bench import bench, run
from labs.crowd.variants import Parameters, Variant, expected_cause
from labs.observed import missing_ticks_ratio, observed, server_of
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident
from labs.wire.figures import WireFigures, total

LAB = "accept-queue"


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
    """A client waits where a handshake comes late; of SYNs that are dropped the product knows how many there were at
    least."""
    server = server_of(recording, key)
    requests = total(server, "requests")
    overflow = read_overflow(snapshot_of(recording))
    waited = None if overflow is None or overflow.at.server.key != key else overflow.waited
    return WireFigures(
        **observed(recording, key).model_dump(),
        opened=total(server, "connections_opened"),
        dropped=total(server, "listen_drops"),
        resent=total(server, "retransmits"),
        waited_share=None if not requests or waited is None else waited / requests,
    )
